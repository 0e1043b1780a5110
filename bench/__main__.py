"""`make bench`: what Everturn costs on top of Temporal, each figure beside its baseline.

Absolute numbers belong to the machine; the ratios are what counts. Every figure of ours and its
baseline come from the same run, in turn, on the same server.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from importlib.metadata import version

import httpx
from temporalio.client import WorkflowHandle

from bench import skeleton
from bench.admission import admission
from bench.growth import growth
from bench.rig import Rig, open_rig

WARM_UP = 5
TURNS = 40
CHANNELS = 20
TURNS_PER_CHANNEL = 3


async def first_text(rig: Rig) -> None:
    """Time from the message to its first visible text, the model's own time taken off."""
    for number in range(WARM_UP):
        await rig.skeleton_turn("latency", f"skeleton-warm-up-{number}")
        await rig.echo("random")
        await rig.turn("general")
    ours: list[float] = []
    bare: list[float] = []
    discord: list[float] = []
    for number in range(TURNS):
        bare.append(await rig.skeleton_turn("latency", f"skeleton-turn-{number}"))
        discord.append(await rig.echo("random"))
        _, seconds = await rig.turn("general")
        ours.append(seconds)
    least = statistics.median(bare) + statistics.median(discord)
    print(f"\nMessage to first visible text, {TURNS} turns each, in turn")
    print(f"  skeleton  {spread(bare)}   Temporal alone")
    print(f"  echo bot  {spread(discord)}   Discord alone: gateway, history, one message")
    print(f"  everturn  {spread(ours)}")
    print(f"  ratio     {statistics.median(ours) / statistics.median(bare):.2f} to the skeleton")
    print(f"  ratio     {statistics.median(ours) / least:.2f} to skeleton and echo bot together")


async def throughput(rig: Rig) -> None:
    """Turns a second with 20 channels that are busy at once."""
    total = CHANNELS * TURNS_PER_CHANNEL
    threads = await make_threads(rig)
    bare: list[float] = []
    ours: list[float] = []
    for round_ in range(3):
        began = time.monotonic()
        turns = [
            (f"busy-{round_}-{channel}", f"skeleton-busy-{round_}-{channel}-{number}")
            for number in range(TURNS_PER_CHANNEL)
            for channel in range(CHANNELS)
        ]
        await asyncio.gather(*(skeleton.post(rig.stack.client, *turn) for turn in turns))
        await asyncio.gather(*(rig.skeleton_sent(turn_id) for _, turn_id in turns))
        bare.append(total / (time.monotonic() - began))

        began = time.monotonic()
        posted = await asyncio.gather(
            *(
                rig.stack.discord.say(thread, "Ada", f"Nova, {number}")
                for number in range(TURNS_PER_CHANNEL)
                for thread in threads
            )
        )
        await asyncio.gather(*(rig.stack.ended(message, 120) for message in posted))
        ours.append(total / (time.monotonic() - began))
    ratio = statistics.median(bare) / statistics.median(ours)
    print(f"\nTurns a second, {CHANNELS} channels at once, {total} turns, three times in turn")
    print(f"  skeleton  {rates(bare)}")
    print(f"  everturn  {rates(ours)}")
    print(f"  ratio     {ratio:.2f} times the skeleton's time")


async def make_threads(rig: Rig) -> list[str]:
    """As many channels as are needed: threads, which any bot may open."""
    state = await rig.stack.discord.state()
    general = next(c["id"] for c in state["channels"] if c["name"] == "general")
    api = rig.stack.environ["EVERTURN_DISCORD_API"]
    headers = {"Authorization": "Bot playground"}
    threads: list[str] = []
    async with httpx.AsyncClient(trust_env=False, headers=headers, timeout=30) as http:
        for number in range(CHANNELS):
            answer = await http.post(
                f"{api}/channels/{general}/threads", json={"name": f"busy {number}", "type": 11}
            )
            answer.raise_for_status()
            threads.append(answer.json()["id"])
    return threads


async def history(rig: Rig) -> None:
    """Events and bytes of history of one plain turn."""
    await rig.skeleton_turn("history", "skeleton-history")
    posted, _ = await rig.turn("random")
    bare = await size(rig.stack.client.get_workflow_handle("skeleton-history"))
    ours = await size(rig.stack.turn(posted))
    print("\nHistory of one plain turn")
    print(f"  skeleton  {bare[0]:3} events  {bare[1]:6} bytes")
    print(f"  everturn  {ours[0]:3} events  {ours[1]:6} bytes")


async def size(handle: WorkflowHandle[object, object]) -> tuple[int, int]:
    described = await handle.describe()
    info = described.raw_description.workflow_execution_info
    return info.history_length, info.history_size_bytes


def spread(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    ninety = ordered[int(len(ordered) * 0.9)]
    return (
        f"median {statistics.median(ordered) * 1000:5.0f} ms"
        f"   p90 {ninety * 1000:5.0f} ms   best {ordered[0] * 1000:5.0f} ms"
    )


def rates(values: list[float]) -> str:
    return f"median {statistics.median(values):5.1f}   ({min(values):.1f} to {max(values):.1f})"


async def main(names: list[str]) -> int:
    parts = {"first_text": first_text, "throughput": throughput, "history": history}
    known = ["admission", *parts, "growth"]
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"unknown: {' '.join(unknown)}; there are: {' '.join(known)}", file=sys.stderr)
        return 2
    print(f"everturn {version('everturn')}, temporalio {version('temporalio')}; starting …")
    within = await admission() if "admission" in (names or known) else True
    compared = [name for name in names or known if name in parts]
    if compared:
        async with open_rig() as rig:
            for name in compared:
                await parts[name](rig)
    if "growth" in (names or known):
        within = await growth() and within
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
