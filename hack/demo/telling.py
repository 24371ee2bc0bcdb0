"""One run from end to end: prepares, tells the story beside its watches, and returns everything that was measured."""

import asyncio
import json
import time

from hack.cluster import access, kserve
from hack.demo import machine, prepare, samples
from hack.demo.connection import Connection, open_session
from hack.demo.moments import Moments
from hack.demo.observer import Observer
from hack.demo.recording import Decision, Recording
from hack.demo.screen import Screen
from hack.demo.story import Story
from hack.demo.traffic import MAX_TOKENS, Traffic

CLIENTS = 1
"""One client: with two cores, a second one would measure the queue."""


async def tell(screen: Screen) -> Recording:
    """Run everything."""
    plain = samples.read(samples.PLAIN)
    models = await prepare.everything(screen, plain.namespace)
    prompts = json.loads((models / "prompts.json").read_text(encoding="utf-8"))
    async with open_session(access.kubeconfig()) as session:
        connection = Connection(session)
        observer = Observer(connection, plain)
        traffic = Traffic(connection, plain, prompts, clients=CLIENTS)
        story = Story(connection, observer, traffic, screen)
        async with asyncio.TaskGroup() as group:
            beside = [group.create_task(each) for each in (*observer.tasks(), story.show())]
            try:
                moments, decision = await _acts(story)
            finally:
                await traffic.abandon()
                for task in beside:
                    task.cancel()
    return _recording(screen, story, observer, traffic, moments, decision)


async def _acts(story: Story) -> tuple[Moments, Decision]:
    plain, speculative = samples.read(samples.PLAIN), samples.read(samples.SPECULATIVE)
    await story.begin(plain)
    await story.plain(plain)
    await story.speculate(speculative)
    return await story.drift(speculative)


def _recording(
    screen: Screen, story: Story, observer: Observer, traffic: Traffic, moments: Moments, decision: Decision
) -> Recording:
    return Recording(
        sample=samples.read(samples.SPECULATIVE),
        clients=CLIENTS,
        max_tokens=MAX_TOKENS,
        kserve=kserve.flavour().value,
        machine=machine.describe(),
        completions=tuple(traffic.completions),
        failures=tuple(traffic.failures),
        readings=tuple(observer.readings),
        spans=story.spans,
        told=story.told,
        minimum=story.minimum,
        moments=moments,
        decision=decision,
        steps=screen.steps.seconds(time.monotonic()),
    )
