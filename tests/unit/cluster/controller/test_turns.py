import asyncio

from cluster.controller.turns import next_turn


async def test_what_is_due_runs_before_the_work_goes_on() -> None:
    log: list[str] = []
    asyncio.get_running_loop().call_soon(log.append, "due")
    await next_turn()
    log.append("work")
    assert log == ["due", "work"]
