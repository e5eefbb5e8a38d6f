//! LSP's names of languages, by the endings of file names.

/// Ending and name. Endings are compared without regard to case.
const LANGUAGES: [(&str, &str); 47] = [
    ("bash", "shellscript"),
    ("c", "c"),
    ("cc", "cpp"),
    ("cjs", "javascript"),
    ("clj", "clojure"),
    ("cpp", "cpp"),
    ("cs", "csharp"),
    ("css", "css"),
    ("cts", "typescript"),
    ("cxx", "cpp"),
    ("dart", "dart"),
    ("ex", "elixir"),
    ("exs", "elixir"),
    ("fs", "fsharp"),
    ("go", "go"),
    ("h", "c"),
    ("hh", "cpp"),
    ("hpp", "cpp"),
    ("hs", "haskell"),
    ("html", "html"),
    ("hxx", "cpp"),
    ("java", "java"),
    ("js", "javascript"),
    ("json", "json"),
    ("jsx", "javascriptreact"),
    ("kt", "kotlin"),
    ("kts", "kotlin"),
    ("lua", "lua"),
    ("m", "objective-c"),
    ("md", "markdown"),
    ("mjs", "javascript"),
    ("mm", "objective-cpp"),
    ("mts", "typescript"),
    ("php", "php"),
    ("pl", "perl"),
    ("py", "python"),
    ("pyi", "python"),
    ("r", "r"),
    ("rb", "ruby"),
    ("rs", "rust"),
    ("scala", "scala"),
    ("sh", "shellscript"),
    ("swift", "swift"),
    ("ts", "typescript"),
    ("tsx", "typescriptreact"),
    ("vue", "vue"),
    ("zig", "zig"),
];

/// The `languageId` of a document; `plaintext` for what is not known.
pub fn language_id(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    LANGUAGES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(ending))
        .map_or("plaintext", |(_, language)| language)
}
