"""English."""

from activities.deliberate.packs.pack import Pack
from activities.deliberate.targets import Target

_PICTURE = (
    "(image|images|picture|pictures|pic|pics|photo|drawing|sketch|illustration|painting|portrait"
    "|artwork|wallpaper|avatar|logo|meme|poster|comic)"
)
_CLIP = "(video|videos|clip|clips|animation)"
_A = "(a|an|the|my|your|our|another|some|one|one more)"
_MAKE = "(generate|create|make|render|produce|give|send|show)"
_DRAW = "(draw|sketch|paint|illustrate)"
_WHOM = "(me|us|him|her|them|everyone|@user)"
_MEMBER = "(him|her|them|this user|this guy|this person|that user|that guy|@user)"
_MESSAGE = "(message|messages|msg|post|comment|reply)"
_WEB = "(web|internet|net|google|duckduckgo)"
_UNIT = (
    "(s|sec|secs|second|seconds|m|min|mins|minute|minutes|h|hr|hrs|hour|hours|d|day|days|week"
    "|weeks|month|months)"
)

PACK = Pack(
    intents={
        Target.IMAGE: [
            f"{_DRAW} (me|us|a|an|the|my|your|yourself|him|her|it|this|that|something|@user)",
            f"{_DRAW} (anime|pixel|fan) *",
            f"(can|could|would|will) you (please|) {_DRAW}",
            f"{_MAKE} (me|us|) {_A} … {_PICTURE} of",
            f"(generate|create|make|render|produce) (me|us|) {_A} (new|) {_PICTURE}",
            f"(generate|create|render) {_PICTURE}",
            "(send|show|take|give) (me|us|) (a|an|another|one more) (selfie|self portrait)",
            f"(turn|make) (it|this|that) into (a|an) {_PICTURE}",
            f"edit (the|this|that|my) {_PICTURE}",
            "image (generation|gen) of",
        ],
        Target.VIDEO: [
            f"(generate|create|make|render|produce) (me|us|) {_A} … {_CLIP}",
            f"(generate|create|render) {_CLIP}",
            f"(send|give) (me|us|) {_A} {_CLIP} of",
            "animate (this|that|it|the|my|him|her)",
            f"(turn|make) … into (a|an) {_CLIP}",
        ],
        Target.VOICE: [
            "(voice|audio) (message|msg|note|memo|clip|messages)",
            "(send|record|make) (me|us|) (a|an|another|some) (voice|audio)",
            "(say|read|speak|sing|recite) … (out loud|aloud)",
            "(say|read|speak|tell) … (in|with) your (voice|own voice)",
            "(let|want to|wanna|can|could|may) (me|us|i|we|) hear your voice",
            "sing (me|us|a|the|this|that|it|something|happy)",
            "text to speech",
            "use (tts|your voice)",
        ],
        Target.REMINDER: [
            f"remind {_WHOM}",
            "(set|create|make|add|schedule|cancel|delete|change|edit|move|update|remove) "
            "(me|us|) (a|an|the|my|that|this|another|our) … (reminder|reminders|alarm|timer)",
            "(set|schedule) (reminder|reminders|alarm|timer)",
            "(set|put) (a|an) (timer|alarm) for",
            "reminder (to|for|about|in|at|that)",
            "(my|the|any|what|all) reminders",
            "(wake|ping|poke|message|text|tell|dm|notify|alert) (me|us) … in # " + _UNIT,
            "(wake|ping|poke|notify|alert) (me|us) … (at|tomorrow|tonight|every|when)",
            "wake (me|us) up",
            "(nudge|remind) (me|us|everyone)",
            "dont let (me|us) forget",
            "every (day|morning|evening|night|week|hour|monday|tuesday|wednesday|thursday|friday"
            "|saturday|sunday) … (remind|ping|tell|post|message) (me|us|everyone)",
            "(remind|ping|tell|post|message) … every (day|morning|evening|night|week|hour|monday"
            "|tuesday|wednesday|thursday|friday|saturday|sunday)",
            "(schedule|reschedule|snooze) (it|this|that|a|an|the|my|your)",
            "(scheduled|recurring|pending) (task|tasks|reminder|reminders)",
            "(check|come|get) back … in # " + _UNIT,
        ],
        Target.CROSS_CHANNEL: [
            "(go|head|hop|pop|jump|come) (over|) (to|into|in) … @channel",
            "(go|head|hop|pop|jump) (over|) (to|into) … channel",
            "(say|ask|tell|post|write|send|announce|share|drop|repeat|report) … (in|to|on|into) "
            "(the|) @channel",
            "(say|ask|tell|post|write|send|announce|share|repeat|report) … "
            "(in|to|into) (the|that|another|a different) … channel",
            "(look|check|see|peek|read|find out) … (in|into|at|on|over|happening in) (the|) "
            "@channel",
            "(check|read|peek into|peek at|look at) (out|) @channel",
            "(look|check|peek|see) … (in|into|at) (the|that|another) (other|) … channel",
            "(whats|what is|what are they) … (in|on) @channel",
            "summarize @channel",
            "(in|to|into) another channel",
            "cross channel",
        ],
        Target.SEARCH: [
            f"(search|browse|check|scour|surf|look on|look at) (on|) (the|) {_WEB}",
            f"(search|look|find|check) … (on|online|in) (the|) {_WEB}",
            "(search|look|check|find) … online",
            "search (for|up)",
            "(web|internet|google|online) search",
            "do (a|some) (quick|) (search|research|googling)",
            "(can|could|would|will|please) (you|) search",
            "(google|duckduckgo) (it|this|that|for|the|what|who|how|when|where|why|whether)",
            "(just|please|quickly|can you|could you) google",
            "look (it|this|that|them|him|her|@user|these|those) up",
            "look … up (for|online|please)",
            "(latest|newest|recent|breaking|todays|current) … (news|headlines|price|prices|score"
            "|scores|version|release|weather)",
            "(any|whats the|what is the|give me the|tell me the) (news|weather|forecast)",
            "news (about|on|today|from)",
            "weather (in|today|tomorrow|forecast|like|this|for)",
            "(find|get|give) (me|us) … (article|articles|website|websites|source|sources|link"
            "|links)",
            "(fact check|factcheck) (this|that|it|me|him|her|the)",
            "(open|read|visit|fetch|summarize|summarise) (this|that|the|my) "
            "(link|url|page|site|website|webpage|article|blog)",
        ],
        Target.MEMORY: [
            "(forget|delete|remove|erase|update|change|edit|correct|fix) … (memory|memories)",
            "forget (about|what|everything|that) (i|my|me|you know|im|we)",
            "(add|save|store|put|write) … (memory|memories)",
            "(save|store) (this|that|it) (for later|permanently|forever)",
            "(your|long term|server|personal) (memory|memories)",
            "(what|do you|everything you|anything you) … (know|remember) about "
            "(me|us|him|her|them|@user)",
            "from now on",
        ],
        Target.MEDIA_ANALYSIS: [
            "(read|open|summarize|summarise|analyze|analyse|check|review|parse|look at|go through) "
            "(this|that|the|my|his|her|their|these|those|@user) … (file|files|pdf|pdfs|document"
            "|documents|doc|docs|attachment|attachments|txt|log|logs|csv|spreadsheet|paper)",
            "(whats|what is|what does|what do|what are|whos|who is) … (in|on|at) (this|that|the|my"
            "|his|her|these|those) … (image|picture|pic|photo|screenshot|gif|video|file|pdf"
            "|document|attachment|meme)",
            "(look at|describe|analyze|analyse|explain|caption|identify|rate|check|see|watch"
            "|transcribe|translate|zoom in on|zoom into) (this|that|the|my|his|her|these|those"
            "|@user) "
            "… (image|images|picture|pictures|pic|pics|photo|photos|screenshot|screenshots|gif|gifs"
            "|video|clip|meme|memes|drawing|art|artwork)",
            "what (does|do) … (file|pdf|document|attachment|screenshot|image|picture|pic) "
            "(say|says|show|contain|mean)",
            "(earlier|older|previous|last) (image|images|picture|pictures|photo|photos|gif|file"
            "|files|attachment|attachments|screenshot)",
            "(avatar|profile picture|profile pic|pfp|profile photo)",
        ],
        Target.MESSAGE_ACTION: [
            f"(pin|unpin) (this|that|it|the|my|your|his|her|@user|last|{_MESSAGE[1:-1]})",
            "(can|could|would|will|please) (you|) (please|) (pin|unpin)",
            "(delete|remove|erase|take down) (this|that|the|my|your|his|her|last|these|those) "
            f"(last|previous|latest|old|#|) {_MESSAGE}",
            "(delete|remove|erase|take down|edit|fix) (what you|the thing you) … (said|wrote"
            "|posted)",
            "delete (that|this|it) (please|pls|now|again)",
            "(please|can you|could you) delete (that|this|it)",
            "(edit|fix|correct|change|rewrite) (this|that|the|your|last) (last|previous|latest|) "
            f"{_MESSAGE}",
            "react (to|with|on)",
            "(add|put|give|leave|drop) … (reaction|reactions)",
            f"(reply|respond) (directly|) to (this|that|the|my|his|her|@user) … {_MESSAGE}",
            "(reply|respond) (directly|) to @user",
            "(when|what time) … (message|messages|msg) (sent|posted|written|from)",
            "(when|what time) (did|was) (i|he|she|they|@user|that|this|it|the last) … "
            "(send|sent|post|posted|write|wrote|written|say|said)",
            "(timestamp|timestamps|time stamp) (of|on|for)",
            f"which {_MESSAGE}",
        ],
        Target.USER_BLOCKING: [
            f"(block|unblock|mute|unmute|ignore|unignore) {_MEMBER}",
            "(block|unblock|mute|unmute) (me|the user|that user|this user|the guy)",
            f"(stop|quit) (talking|responding|replying|answering|listening) to {_MEMBER}",
            f"(dont|do not|never) (talk|respond|reply|answer|listen) to {_MEMBER}",
            "(blocked|muted) (users|user|list|members|people)",
        ],
        Target.USER_INFO: [
            "(call|name) me … (from now on|instead|please)",
            "(you can|you may|just|please|everyone) (just|) call me",
            "my (name|nickname|nick) (is|should)",
            "(change|set|update|edit) (my|his|her|their|@user) (name|nickname|nick|pronoun|pronouns"
            "|timezone|time zone)",
            "my pronouns",
            "(use|i use|i go by) (he|she|they|it|xe|any) … (pronouns|for me)",
            "(i use|my pronouns are|pronouns are) (he|she|they|it|xe) (him|her|them|they|its|xem)",
            "my (timezone|time zone)",
            "(im|i am|i live) in … (timezone|time zone)",
        ],
        Target.THREAD: [
            "(create|open|start|make|begin|spin up) (me|us|) (a|an|the|another|new) … thread",
            "(create|open|start|make) (thread|threads)",
            "(move|take|continue|bring|put) (this|that|it|the discussion|the conversation) … "
            "thread",
            "new thread (for|about|on|called|named|titled)",
        ],
        Target.CAPABILITIES: [
            "what (can|could) you (do|all do|even do|actually do|help)",
            "what (are|all are) you (capable of|able to do)",
            "what (are|is) your (capabilities|capability|abilities|features|functions|skills"
            "|commands|tools|settings|configuration|config)",
            "(list|show|tell|explain) (me|us|) (all|) (of|) (your|the) … (capabilities|abilities"
            "|features|commands|tools|settings|functions)",
            "(which|what) (tools|commands|features|slash commands|model|llm|ai model|settings) "
            "(do|can|are|have|does) (you|there|i|it)",
            "(do you|can you) (have|support|use|access) … (tools|tool|commands|plugins|mcp)",
            "how (do|can|should) (i|we) (use|configure|set up|setup|change|enable|disable|turn on"
            "|turn off) (you|your|the bot|this bot|this feature|this command)",
            "your (capabilities|abilities|settings|configuration)",
            "help (me|us) (with|to) (set|setup|configure) … (bot|up|you)",
        ],
    },
    memory=[
        "remember",
        "(dont|do not|never|wont) forget",
        "note",
        "make (a|) note",
        "(commit|add|save) … to (your|) (long term|) memory",
        "for future reference",
        "keep (it|this|that|them|) in mind",
        "(bear|keep) in mind",
        "memorize",
        "memorise",
        "(write|jot) (this|that|it) down",
        "(save|store) (this|that|it) (to|in) (your|) memory",
    ],
    self_diagnosis=[
        "why (did|do|dont|didnt|cant|couldnt|wont|arent|werent|are|were) you (not|stop|stopped|fail"
        "|failing|answer|answering|respond|responding|reply|replying|use|using|search|searching"
        "|draw|send|see|work|working|broken|slow|lagging|ignoring|repeating|crash|react|remember)",
        "why (isnt|doesnt|didnt|wont) … (work|working|respond|responding)",
        "(whats|what is|what went|what was) (wrong|going on|the matter|the problem|up) with you",
        "(is|was) (something|anything) wrong with you",
        "are you (broken|bugged|glitching|malfunctioning|down|lagging|having issues|working"
        "|working properly|working correctly)",
        "(debug|diagnose|troubleshoot|check|inspect|test) yourself",
        "(run|do) (a|some) (self|) (diagnostic|diagnostics|diagnosis|self test|self check"
        "|selftest)",
        "(what|which) (error|errors|problem) (did|do|are|were|have) you",
        "(did|have) you (crash|crashed|break|broken|bug out|get an error|gotten an error)",
        "(check|review|look at|inspect) your (own|) (settings|config|configuration|logs|code|docs"
        "|documentation|permissions|source)",
        "do you (have|lack|need) (the|) (permission|permissions)",
    ],
    link_requests=[
        "(read|open|visit|fetch|check|see|look|view|browse|summarize|summarise|summary|tldr|tl;dr"
        "|explain|translate|analyze|analyse|review|scrape)",
        "(what|whats|who|whos|why|how|when|where|which|does)",
        "(thoughts|opinion|opinions|think|tell|know|say|says|according|article|page|site|source)",
    ],
    follow_up=[
        "(do|try|make|run|send|say|draw|generate|search|create|read|check) "
        "(that|this|it|one|them|the same|those) (one|thing|) (again|once more|one more time|over)",
        "(try|do|run|go) (again|once more)",
        "(one|once) more (time|please|pls)",
        "same (thing|one|again|as before|as last time|as above|prompt|request|question|here)",
        "the same (but|with|for|again|please)",
        "(another|one more) (one|time|try|please|pls)",
        "(like|as) (that|last time|before) (but|again|one)",
        "(now|but) (make it|make them|make that|do it|do that|do the same|as a|as an)",
        "(but|this time) (with|without|in|bigger|smaller|shorter|longer|different)",
        "(redo|retry|repeat|regenerate|rerun) (that|this|it|the last|please|again)",
        "(make|change) (it|that|this) (more|less|a bit|a little|bigger|smaller|brighter|darker"
        "|shorter|longer|better|different|louder|slower|faster)",
        "(yes|yeah|yep|sure|ok|okay) (please|pls|do it|do that|go ahead|go for it)",
        "(go ahead|go for it|do it|lets do it)",
        "(what about|how about) (one|that|the|this|another|with|in|for|now|tomorrow)",
        "you (forgot|didnt|never) (do|did|send|sent|make|made|it|that)",
    ],
    brief_follow_up=[
        "(please|pls|plz|pretty please)",
        "(again|encore|more|another|another one|one more|once more|redo|retry|repeat|continue)",
        "(yes|yeah|yep|yup|sure|ok|okay|do it|go ahead|go on)",
        "and now",
    ],
    sayings=[
        f"{_DRAW} (a|an|the|some|my|your) (own|) (conclusion|conclusions|line|lines|blank|card"
        "|cards"
        "|parallel"
        "|parallels|comparison|distinction|curtain|curtains|sword|weapon|gun|short straw"
        "|attention)",
        "(get|see|got|getting|paint a clear|in) the (big|bigger|full|) picture",
        "picture (this|it|that)",
        "(block|mute) (of|quote)",
        "(happy|glad) to (search|help)",
        "soul searching",
        "(side|sticky|foot|musical|high|low|sour|positive|suicide|bank) note",
        "note (taking|taker|book|pad)",
        "remember when",
        "look (up to|forward|forwards|after)",
        "(common|loose|sewing|needle and|screw|cpu|main|worker) thread",
        "(makes|make|making) sense",
    ],
)
