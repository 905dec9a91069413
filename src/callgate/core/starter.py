"""When a decided call begins: nothing earlier in its way, the message known well enough, a slot and its locks free.

Waiting for a lock takes no slot, and locks are never held while waiting for a slot.
"""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from callgate.core import outcomes
from callgate.core.lanes import EXCLUSIVE, SHARED, Claim
from callgate.core.ports import Host
from callgate.core.ticket import HELD, LOCKING, READY, RUNNING, Ticket, Tickets
from callgate.words.calls import Result
from callgate.words.decisions import Ask
from callgate.words.limits import ExecutorSettings


class Starter:
    """``ask`` puts a call's question, ``begin`` runs it, ``withdraw`` settles it without."""

    def __init__(
        self,
        host: Host,
        tickets: Tickets,
        settings: ExecutorSettings,
        lineage: tuple[str, ...],
        *,
        ask: Callable[[Ticket], None],
        begin: Callable[[Ticket], None],
        withdraw: Callable[[Ticket, Result], None],
    ) -> None:
        self._clock = host.clock
        self._locks = host.locks
        self._tickets = tickets
        self._settings = settings
        self._lineage = lineage
        self._ask = ask
        self._begin = begin
        self._withdraw = withdraw
        self._ready: list[int] = []
        self._shared: set[int] = set()  # those that run
        self._parked: list[Ticket] = []  # exclusive ones that wait for them
        self._stirred: deque[Ticket] = deque()
        self._stirring = False
        self.running = 0
        self.whole = False  # the message has ended as it should
        self.halted = False  # nothing begins any more, and nobody is asked

    def stir(self, ticket: Ticket) -> None:
        """Something changed for this call: see whether it can go on. Not recursive, however long the chain."""
        self._stirred.append(ticket)
        if self._stirring:
            return
        self._stirring = True
        try:
            while self._stirred:
                self._advance(self._stirred.popleft())
        finally:
            self._stirring = False
        self.fill()

    def fill(self) -> None:
        """Start what is ready, earliest first, while there are slots."""
        if self._stirring or self.halted:
            return  # comes afterwards, or not at all
        while self._ready and self.running < self._settings.max_concurrency:
            ticket = self._tickets.ordered[heappop(self._ready)]
            if ticket.stage is not READY or not self._still_free(ticket):
                continue
            if ticket.placed is SHARED:  # it touches nothing: nobody else on the host waits for it
                self._shared.add(ticket.index)
                self._start(ticket)
            elif ticket.placed is EXCLUSIVE and self._shared:  # they had started before, or are strays
                self._parked.append(ticket)
                self._wait(ticket)
            elif self._locked(ticket):
                self._start(ticket)

    def let_go(self, ticket: Ticket) -> None:
        """The call is through: its slot and its locks are free."""
        if ticket.stage is RUNNING:
            self.running -= 1
        self.ungrant(ticket)
        if ticket.placed is SHARED:
            self._shared.discard(ticket.index)
            while self._parked and not self._shared:
                parked = self._parked.pop()
                if parked.stage is LOCKING:
                    parked.stop_timer()
                    self._queue(parked)

    def ungrant(self, ticket: Ticket) -> None:
        grant, ticket.grant = ticket.grant, None
        if grant is not None:
            self._locks.leave(grant)

    def _advance(self, ticket: Ticket) -> None:
        if ticket.stage is not HELD or ticket.claim is None or ticket.claim.blockers or self.halted:
            return
        if isinstance(ticket.decision, Ask):
            self._ask(ticket)
        elif self._may_start(ticket):
            self._queue(ticket)

    def _may_start(self, ticket: Ticket) -> bool:
        start = self._settings.start
        return self.whole or start == "eager" or (start == "early" and ticket.traits.effects == "none")

    def _queue(self, ticket: Ticket) -> None:
        self._tickets.to(ticket, READY)
        heappush(self._ready, ticket.index)

    def _start(self, ticket: Ticket) -> None:
        self._tickets.to(ticket, RUNNING)
        self.running += 1
        self._begin(ticket)

    def _still_free(self, ticket: Ticket) -> bool:
        """An earlier call may have got other arguments meanwhile, and with them the place this one needs."""
        if ticket.claim is not None and not ticket.claim.blockers:
            return True
        self._tickets.to(ticket, HELD)
        return False

    def _locked(self, ticket: Ticket) -> bool:
        """All its locks at once, or a place in the queue for them."""
        ticket.grant = grant = Claim(ticket, ticket.placed, self._granted, (*self._lineage, ticket.id))
        if self._locks.enter(grant):
            return True
        self._wait(ticket)
        return False

    def _wait(self, ticket: Ticket) -> None:
        self._tickets.to(ticket, LOCKING)
        wait = ticket.traits.timeout or self._settings.lock_wait
        ticket.timer = self._clock.call_later(wait, lambda: self._locked_out(ticket, wait))

    def _granted(self, ticket: Ticket) -> None:
        if ticket.stage is not LOCKING:
            return
        ticket.stop_timer()
        if self._still_free(ticket) and self.running < self._settings.max_concurrency:
            self._start(ticket)
            return
        self.ungrant(ticket)
        if ticket.stage is LOCKING:
            self._queue(ticket)

    def _locked_out(self, ticket: Ticket, waited: float) -> None:
        if ticket.grant is not None:
            holders = self._locks.holders(ticket.grant)
        else:
            holders = [self._tickets.ordered[index].label for index in sorted(self._shared)]
        self._withdraw(ticket, outcomes.locked_out(waited, holders))
