"""Optional attributes of tools, hosts, journals and models are looked up in one module."""

import ast

from tests.house.tree import PACKAGE, dotted, parsed, python_files

HOME = "core/capabilities.py"
# Names of objects that are none of these: errors, messages of libraries, objects of foreign modules. The names of the
# standard library differ by platform.
OTHERS = {"os", "signal", "sys.stdout", "self", "self.panels[-1]", "error", "message", "item", "event.decision"}
OTHERS |= {"pending", "ctx.request", "value", "kind", "inner"}
# Further objects. Left: the file. Right: the object.
FURTHER = {
    ("testing/checks/port_checks.py", "stream"),  # a conformance check reports a stream that cannot be closed
    ("tools/foreign.py", "tool"),  # a tool of another framework
    ("formats/jsonable.py", "each"),  # a class of values
    ("tools/parameters.py", "each"),  # an annotation of a parameter
    ("tools/toolbox.py", "each"),  # the name of the function of a tool, for an error message
}


def test_optional_attributes_of_tools_hosts_journals_and_models_are_looked_up_in_one_module() -> None:
    wrong: list[str] = []
    for path in python_files("src/callgate"):
        file = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(parsed(path)):
            if not (isinstance(node, ast.Call) and dotted(node.func) == "getattr"):
                continue
            owner = ast.unparse(node.args[0])
            is_other = owner in OTHERS or owner.startswith("getattr") or (file, owner) in FURTHER
            if isinstance(node.args[1], ast.Constant) and not is_other and file != HOME:
                wrong.append(f"{file}:{node.lineno}: getattr({owner}, …)")
    assert not wrong, f"use {HOME}"
