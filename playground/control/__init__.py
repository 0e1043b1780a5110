"""The hands of tests and of the page: act as a member, look at everything, break things.

Everything is JSON, under `/control`, for this machine only (see `guard.py`). A channel is given by
id or name (`general`, `side talk`, `dm:Ada`), a member by id or name. Errors are
`{"error": "what is wrong"}` with 400, 403, 404 or 409.

Acting as a member
    POST   /control/messages        {channel, member, content, reply_to?, files?, stickers?}: the
                                    message; files: [{filename, data: base64, content_type?}],
                                    stickers: [ids], either instead of content
    PATCH  /control/messages        {channel, member, message, content}: the message
    DELETE /control/messages        {channel, message, member?}: by that member, else a moderator
    POST   /control/reactions       {channel, message, member, emoji, remove?}
    POST   /control/typing          {channel, member}
    POST   /control/commands        {channel, member, name, options?, wait?}: the interaction
    POST   /control/components      {channel, member, message, custom_id, values?, wait?}
    POST   /control/autocomplete    {channel, member, name, options, focused, wait?}
    POST   /control/forms           {member, interaction, values: {custom_id: text}, wait?}: fills
                                    in what an interaction was answered with
    GET    /control/interactions/ID ?wait=seconds

An interaction: {id, status: waiting|deferred|answered|unanswered, ephemeral, response, followups,
choices, form: {title, fields}}. `wait` (5 s by default) ends as soon as it is answered; a bot that
only acknowledges a press counts as answered.

Looking
    GET /control/state              guild, members, channels, commands, bot online or not
    GET /control/channels/CH/messages ?after=ID&count=N&wait=S&author=NAME|bot&deleted=1
        &before=ID&limit=N
        {messages: oldest first, complete}: returns as soon as `count` of them are there, and at
        the latest after `wait` seconds (complete: false)
    GET /control/channels/CH/typing {typing: [{user, until}], history: [{at, user_id, what, …}]}
    GET /control/requests           ?match=regexp&since=number; DELETE clears
    GET /control/events             server-sent events, for the page

Breaking
    POST   /control/faults          {match, action, times?, skip?, status?, code?, retry_after?, …}
    GET    /control/faults, DELETE /control/faults
    POST   /control/gateway         {action, …}, see `control/gateway.py`
    GET    /control/gateway         sessions
    POST   /control/permissions     {channel, allow?: [names], deny?: [names]}: the bot's, in a
                                    channel; neither takes the change back
    POST   /control/timeout         {seconds | null, member?}: times the bot (or a member) out
    POST   /control/files/expire    the addresses of files that the bot has seen are good no more
    POST   /control/stickers        {name, description?, emoji?}: a sticker of the guild
    DELETE /control/stickers        {sticker}
    GET, PATCH /control/settings    {nonce_window, intents, rate_limits}
"""

from __future__ import annotations

from aiohttp import web

from playground.control import acting, breaking, gateway, interactions, live, looking
from playground.control.answers import answer_as_json
from playground.services import SERVICES, Services


def add_control(app: web.Application, services: Services) -> None:
    """Mounts the control interface under `/control`."""
    control = web.Application(middlewares=[answer_as_json])
    control[SERVICES] = services
    for part in (acting, breaking, gateway, interactions, live, looking):
        control.router.add_routes(part.routes)
    app.add_subapp("/control", control)
