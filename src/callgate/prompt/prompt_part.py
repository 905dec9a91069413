"""The parts of a system prompt."""

import re

from callgate.words.noun import noun


@noun
class PromptPart:
    """A part of a system prompt.

    origin  the file of the text, or a description of its source
    """

    name: str
    text: str
    origin: str


@noun
class SystemPrompt:
    """A system prompt, as a list of its parts.

    notes  notes for the user about texts that were left out or truncated
    """

    parts: tuple[PromptPart, ...]
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The whole prompt as it is sent to the model."""
        return "\n\n".join(part.text for part in self.parts)


def enclosed(tag: str, text: str, **attributes: str) -> str:
    """Return the text between an opening and a closing tag. A closing tag inside the text is escaped."""
    said = "".join(f' {name}="{value.replace(chr(34), "’")}"' for name, value in attributes.items())
    return f"<{tag}{said}>\n{text.replace(f'</{tag}', f'‹/{tag}')}\n</{tag}>"


def enclosed_length(tag: str, text: str) -> int:
    """Return the number of characters between the tags with this name in a prompt, including the tags."""
    found = re.finditer(rf"<{tag}(?: [^>\n]*)?>\n.*?\n</{tag}>", text, re.DOTALL)
    return sum(match.end() - match.start() for match in found)
