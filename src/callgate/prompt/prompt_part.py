"""The parts of a system prompt, each with its origin."""

import re

from callgate.words.noun import noun


@noun
class PromptPart:
    """``origin`` is the file that the text was read from, or in words who gave it."""

    name: str
    text: str
    origin: str


@noun
class SystemPrompt:
    """``notes`` say what was left out or cut, for people."""

    parts: tuple[PromptPart, ...]
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The prompt as a model is sent it."""
        return "\n\n".join(part.text for part in self.parts)


def enclosed(tag: str, text: str, **attributes: str) -> str:
    """The text between two tags. A tag of the same name inside it cannot end it early."""
    said = "".join(f' {name}="{value.replace(chr(34), "’")}"' for name, value in attributes.items())
    return f"<{tag}{said}>\n{text.replace(f'</{tag}', f'‹/{tag}')}\n</{tag}>"


def enclosed_length(tag: str, text: str) -> int:
    """The characters of a prompt that ``enclosed`` put between tags of this name, tags included."""
    found = re.finditer(rf"<{tag}(?: [^>\n]*)?>\n.*?\n</{tag}>", text, re.DOTALL)
    return sum(match.end() - match.start() for match in found)
