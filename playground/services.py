"""The parts of one running playground, as its request handlers find them."""

from __future__ import annotations

from dataclasses import dataclass, field

from aiohttp import web

from playground.commands import Commands
from playground.config import PlaygroundConfig
from playground.events import Hub
from playground.faults import Faults
from playground.gateway.sessions import Gateway
from playground.indicators import Typing
from playground.interactions import Interactions
from playground.messages import Messages
from playground.ratelimits import RateLimits
from playground.requestlog import RequestLog
from playground.store import Store
from playground.world import World


@dataclass
class Services:
    config: PlaygroundConfig
    store: Store
    hub: Hub
    world: World
    typing: Typing
    messages: Messages
    commands: Commands
    interactions: Interactions
    gateway: Gateway
    limits: RateLimits = field(default_factory=RateLimits)
    faults: Faults = field(default_factory=Faults)
    log: RequestLog = field(default_factory=RequestLog)

    @classmethod
    def assemble(cls, config: PlaygroundConfig) -> Services:
        """Opens the data folder. Raises PlaygroundError in one line."""
        store = Store(config.data)
        hub = Hub()
        world = World(store, hub)
        typing = Typing(world)
        messages = Messages(world, typing)
        return cls(
            config=config,
            store=store,
            hub=hub,
            world=world,
            typing=typing,
            messages=messages,
            commands=Commands(world),
            interactions=Interactions(world, messages),
            gateway=Gateway(world),
        )


SERVICES = web.AppKey("services", Services)
