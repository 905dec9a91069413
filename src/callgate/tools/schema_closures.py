"""The hot path of a schema: one function per node that says whether a value fits, made once and called often."""

from typing import Any, cast

from callgate.tools.schema_node import KINDS, Node, Test, unexpected


def closure(node: Node) -> Test:
    """One function for a whole node; a type that another test checks anyway is not checked twice."""
    tests: list[Test] = [rule.test for rule in node.rules]
    speaks_of_keys = node.properties or node.patterns or node.additional or node.required or node.names or node.closed
    kinds = node.kinds
    if speaks_of_keys:
        tests.append(_object_test(node, other=kinds != ("object",)))
    if node.prefix or node.items or node.contains:
        tests.append(_array_test(node, other=kinds != ("array",)))
    tests += _part_tests(node)
    if kinds and not (speaks_of_keys and kinds == ("object",)):
        checks = [KINDS[kind] for kind in kinds]
        tests.insert(0, checks[0] if len(checks) == 1 else lambda value: any(check(value) for check in checks))
    test = _all(tests)
    return (lambda value: value is None or test(value)) if node.nullable else test


def _all(tests: list[Test]) -> Test:
    if not tests:
        return lambda value: True
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        first, second = tests
        return lambda value: first(value) and second(value)
    every = tuple(tests)

    def test(value: Any) -> bool:
        for one in every:  # noqa: SIM110 - all() with a generator is three times slower
            if not one(value):
                return False
        return True

    return test


def _object_test(node: Node, *, other: bool) -> Test:
    """``other`` is the answer for values that are no objects."""
    known = {key: child.test for key, child in node.properties.items()}
    required = node.required
    alone = not (node.patterns or node.names or any(node.parts()))
    rest = node.additional.test if node.additional else None
    if alone:
        closed = node.closed
        other_keys = None if closed else rest

        def small(value: Any) -> bool:
            if type(value) is not dict:
                return other
            for key in required:
                if key not in value:
                    return False
            for key, item in cast(dict[str, Any], value).items():
                test = known.get(key, other_keys)
                if test is None:
                    if closed:
                        return False
                elif not test(item):
                    return False
            return True

        return small
    patterns = [(pattern.fits, child.test) for pattern, child in node.patterns]
    name_test = node.names.test if node.names else None

    def full(value: Any) -> bool:
        if type(value) is not dict:
            return other
        items = cast(dict[str, Any], value)
        for key in required:
            if key not in items:
                return False
        for key, item in items.items():
            test = known.get(key)
            judged = test is not None
            if test is not None and not test(item):
                return False
            for fits, child in patterns:
                if fits(key):
                    judged = True
                    if not child(item):
                        return False
            if not judged and rest is not None and not rest(item):
                return False
            if name_test is not None and not name_test(key):
                return False
        return not (node.closed and unexpected(node, items))

    return full


def _array_test(node: Node, *, other: bool) -> Test:
    prefix = tuple(child.test for child in node.prefix)
    each = node.items.test if node.items else None
    contains = node.contains

    def test(value: Any) -> bool:
        if type(value) is not list:
            return other
        items = cast(list[Any], value)
        for one, item in zip(prefix, items, strict=False):
            if not one(item):
                return False
        if each is not None:
            for item in items[len(prefix) :] if prefix else items:
                if not each(item):
                    return False
        if contains:
            asked, least, most = contains
            return least <= sum(map(asked.test, items)) <= most
        return True

    return test


def _part_tests(node: Node) -> list[Test]:
    tests: list[Test] = []
    if follow := node.ref:
        tests.append(lambda value: follow().test(value))
    tests += [part.test for part in node.all_of]
    if node.any_of:
        some = tuple(branch.test for branch in node.any_of)
        tests.append(lambda value: any(test(value) for test in some))
    if node.one_of:
        alternatives = tuple(branch.test for branch in node.one_of)
        tests.append(lambda value: sum(test(value) for test in alternatives) == 1)
    if node.none_of:
        refused = node.none_of.test
        tests.append(lambda value: not refused(value))
    for key, part in node.dependent.items():
        tests.append(_dependent(key, part.test))
    if node.condition:
        tests.append(_conditional(*node.condition))
    return tests


def _dependent(key: str, test: Test) -> Test:
    return lambda value: type(value) is not dict or key not in value or test(value)


def _conditional(premise: Node, then: Node | None, otherwise: Node | None) -> Test:
    def test(value: Any) -> bool:
        branch = then if premise.test(value) else otherwise
        return branch is None or branch.test(value)

    return test
