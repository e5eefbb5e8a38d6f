"""The official Python client against `dsh-host mcp`: lists and calls every tool, sees an error, completes a path, hears of progress, cancels.

Usage: client.py DSH_HOST WORKSPACE SESSIONS PROFILE; the profile's workspace_symbol waits for a language server that never answers.
"""

import sys

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

HOST, WORKSPACE, SESSIONS, PROFILE = sys.argv[1:]


def server(*more):
    return StdioServerParameters(command=HOST, args=["mcp", "--cwd", WORKSPACE, "--sessions", SESSIONS, *more])


async def tools():
    async with stdio_client(server("--session", "session-1")) as streams, ClientSession(*streams) as session:
        await session.initialize()
        listed = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert sorted(listed) == ["context_grep", "context_query", "context_slice"], listed
        for name, arguments in [("context_query", {}), ("context_slice", {"seq": 0}), ("context_grep", {"pattern": "test"})]:
            # The client itself checks the structured answer against the output schema.
            answer = await session.call_tool(name, arguments)
            assert not answer.is_error and answer.structured_content, (name, answer)
        wrong = await session.call_tool("context_slice", {"seq": "x"})
        assert wrong.is_error and wrong.content[0].text == 'Error: invalid arguments: "seq" must be an integer', wrong
        reference = types.ResourceTemplateReference(type="ref/resource", uri="workspace:///{+path}")
        found = await session.complete(reference, {"name": "path", "value": "quag"})
        assert found.completion.values == ["src/quagga.rs"], found


async def cancelling():
    heard = anyio.Event()

    async def progress(*_):
        heard.set()

    async with stdio_client(server("--profile", PROFILE)) as streams, ClientSession(*streams) as session:
        await session.initialize()
        async with anyio.create_task_group() as group:

            async def call():
                await session.call_tool("workspace_symbol", {"query": "x"}, progress_callback=progress)

            group.start_soon(call)
            with anyio.fail_after(60):
                await heard.wait()
            group.cancel_scope.cancel()
        assert (await session.list_tools()).tools


anyio.run(tools)
anyio.run(cancelling)
print("ok")
