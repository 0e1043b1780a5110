"""What looks like a secret, in any text. Pure.

For all that people and files get to see: logs, notices, errors. In: text. Out: the same with a mask
in place of each token, and of what stands where a password stands. Linear in the text's length,
whatever it holds: it may be a stranger's.
"""

from __future__ import annotations

import re

REDACTED = "[redacted]"

_TOKEN_SHAPES = re.compile(
    r"""
      (?P<keep> (?:[?&](?:key|api_key|token|access_token)= | \bBearer\s+ | \bBot\s+(?=\S{20})
                 | /webhooks/\d+/ | ://[^/\s:@]+: ))
      (?P<value> [^\s&"'/@]{6,} )
    | (?P<user> ://[^/\s:@]+: ) [^/\s@]+ (?=@)            # a password of any length
    | \b[MNO][\w-]{23,27}\.[\w-]{6,7}\.[\w-]{27,}         # Discord bot token
    | \b(?:sk|pk|rk|gsk|xai)-[\w-]{16,}                    # OpenAI, Anthropic, OpenRouter and alike
    | \bAIza[\w-]{30,}                                     # Google API key
    | \beyJ[\w-]{8,400}\.[\w-]{8,}\.[\w-]{8,}              # JSON web token; its head is short
    """,
    re.VERBOSE,
)


def mask_secrets(text: str) -> str:
    return _TOKEN_SHAPES.sub(lambda match: (match["keep"] or match["user"] or "") + REDACTED, text)
