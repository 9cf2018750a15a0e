"""Make the generated tables of examples/data, with answers planted in them.

Every table is noise that cannot answer its question (how, stands beside each) plus planted rows: some that answer
it, some that just miss. The answers are written down where they are planted, without looking at any result. The
same rows come out on every machine.

    python scripts/make_example_data.py
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parents[1] / "examples" / "data"
START = datetime(2026, 3, 2)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
# The noise ends here; what is planted comes behind it, in days of its own.
QUIET = START + 14 * DAY


class Made(NamedTuple):
    """A table, and the rows that the jobs over it have to find: job, columns, rows in order."""

    table: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    answers: dict[str, list[tuple[Any, ...]]]


class Place(NamedTuple):
    """A town on the map, in degrees."""

    name: str
    latitude: float
    longitude: float


BERLIN, MADRID = Place("Berlin", 52.52, 13.41), Place("Madrid", 40.42, -3.70)
TOKYO, NEW_YORK = Place("Tokyo", 35.68, 139.69), Place("New York", 40.71, -74.01)
TORONTO, HAMBURG = Place("Toronto", 43.65, -79.38), Place("Hamburg", 53.55, 9.99)
HOMES = (BERLIN, MADRID, TOKYO, NEW_YORK, TORONTO, HAMBURG)


def _pick(chance: random.Random, choices: Sequence[Any]) -> Any:
    """Choose by `random()` alone, the one draw that all versions of Python promise to repeat."""
    return choices[int(chance.random() * len(choices))]


def _kilometres(start: Place, end: Place) -> float:
    """Return the distance on a sphere, by the law of cosines."""
    a, b = math.radians(start.latitude), math.radians(end.latitude)
    turn = math.radians(end.longitude - start.longitude)
    return 6371.0 * math.acos(math.sin(a) * math.sin(b) + math.cos(a) * math.cos(b) * math.cos(turn))


def make_logins() -> Made:
    """Log-ins with guessed passwords and journeys nobody can make.

    Noise: everybody logs in from home, once or twice a day and after two mistyped passwords at most.
    """
    chance = random.Random(11)
    home = {f"u{number:02}": HOMES[number % len(HOMES)] for number in range(1, 41)}
    address = {user: f"198.51.100.{number}" for number, user in enumerate(home, 1)}
    rows: list[tuple[Any, ...]] = []

    def add(user: str, at: datetime, outcome: str, place: Place | None = None, source: str | None = None) -> None:
        town = place or home[user]
        rows.append((user, at, source or address[user], town.name, town.latitude, town.longitude, outcome))

    for user in home:
        for day in range(14):
            at = START + day * DAY + 7 * HOUR + int(chance.random() * 9 * 60) * MINUTE
            for _ in range(int(chance.random() * 3)):
                add(user, at, "failed")
                at += MINUTE
            add(user, at, "ok")
    return Made(
        "logins",
        ("user", "at", "address", "city", "latitude", "longitude", "outcome"),
        rows,
        {"brute_force": _guess(add, address), "impossible_travel": _travel(add, home)},
    )


def _guess(add: Any, address: dict[str, str]) -> list[tuple[Any, ...]]:
    """Plant failures and a success: (user, failures, seconds to the success, from a new address, found)."""
    answers = []
    for user, failures, seconds, is_new, found in (
        ("u03", 6, 130, True, True),
        ("u17", 9, 45, True, True),
        ("u23", 5, 600, True, True),  # exactly ten minutes
        ("u20", 5, 601, True, False),  # one second too late
        ("u11", 4, 60, True, False),  # too few
        ("u08", 7, 200, False, False),  # forgot the password, at home
    ):
        begin = QUIET + 3 * HOUR + len(answers) * HOUR
        source = f"203.0.113.{user[1:]}" if is_new else address[user]
        for number in range(failures):
            add(user, begin + timedelta(seconds=4 * number), "failed", source=source)
        entered = begin + timedelta(seconds=seconds)
        add(user, entered, "ok", source=source)
        if found:
            answers.append((user, failures, begin, entered, seconds, address[user], source))
    return answers


def _travel(add: Any, home: dict[str, Place]) -> list[tuple[Any, ...]]:
    """Plant log-ins at home, elsewhere soon after, and at home again after days; 900 km/h are possible."""
    answers = []
    for user, target, minutes, found in (
        ("u05", TOKYO, 90, True),  # Hamburg to Tokyo
        ("u06", TORONTO, 300, True),  # Berlin to Toronto in five hours
        ("u33", TORONTO, 10, True),  # New York to Toronto in ten minutes
        ("u12", MADRID, 150, False),  # Berlin to Madrid, as a plane flies
        ("u36", HAMBURG, 60, False),  # Berlin to Hamburg
    ):
        left = QUIET + 20 * HOUR
        arrived = left + minutes * MINUTE
        add(user, left, "ok")
        add(user, arrived, "failed", target, "192.0.2.9")
        add(user, arrived, "ok", target, "192.0.2.9")
        add(user, arrived + 3 * DAY, "ok")
        distance = _kilometres(home[user], target)
        speed = distance / (minutes / 60)
        assert found == (speed > 900)
        if found:
            answers.append((user, home[user].name, target.name, left, arrived, round(distance), round(speed)))
    return sorted(answers, key=lambda answer: -answer[-1])


def make_payments() -> Made:
    """Card payments with tried-out cards and cards in two countries.

    Noise: payments of 12 to 180, three hours apart and more, in the country of the card.
    """
    chance = random.Random(12)
    country = {f"c{number:02}": ("DE", "FR", "ES", "IT")[number % 4] for number in range(1, 41)}
    rows: list[tuple[Any, ...]] = []

    def add(card: str, at: datetime, amount: float, where: str | None = "home", merchant: str = "shop") -> None:
        rows.append((card, at, f"{amount:.2f}", country[card] if where == "home" else where, merchant))

    for card in country:
        at = START + int(chance.random() * 600) * MINUTE
        while at < QUIET:
            add(card, at, 12 + int(chance.random() * 16800) / 100, merchant=_pick(chance, ("grocer", "fuel", "books")))
            at += 3 * HOUR + int(chance.random() * 3000) * MINUTE
    answers = {"small_then_large": _try_out(add), "two_countries": _two_countries(add, country)}
    return Made("payments", ("card", "at", "amount", "country", "merchant"), rows, answers)


def _try_out(add: Any) -> list[tuple[Any, ...]]:
    """Plant payments on the first quiet day: (card, (minute, amount) …, found: how many small, their sum)."""
    answers = []
    begin = QUIET + 8 * HOUR
    for card, payments, small in (
        ("c04", ((0, 0.50), (2, 1.00), (3, 1.20), (9, 899.00)), (3, "2.70")),
        ("c22", ((0, 1.00), (4, 0.99), (5, 40.00), (8, 1.50), (12, 0.01), (30, 1200.00)), (4, "3.50")),
        ("c27", ((0, 1.00), (20, 1.00), (40, 1.00), (60, 500.00)), (3, "3.00")),  # exactly an hour
        ("c15", ((0, 1.00), (20, 1.00), (40, 1.00), (61, 700.00)), None),  # too late
        ("c09", ((0, 1.00), (5, 1.50), (9, 800.00)), None),  # too few
        ("c18", ((0, 950.00), (5, 1.00), (6, 1.00), (7, 1.00)), None),  # the other way round
        ("c30", ((0, 1.00), (5, 2.01), (6, 1.00), (7, 640.00)), None),  # 2.01 is not small
    ):
        for minute, amount in payments:
            add(card, begin + minute * MINUTE, amount, merchant="electronics" if amount > 400 else "donation")
        if small:
            minute, amount = payments[-1]
            answers.append((card, begin, begin + minute * MINUTE, *small, f"{amount:.2f}", "electronics"))
    return sorted(answers, key=lambda answer: answer[2])


def _two_countries(add: Any, country: dict[str, str]) -> list[tuple[Any, ...]]:
    """Plant payments on the second quiet day: (card, (minute, country) …, found: the two that stand side by side)."""
    answers = []
    begin = QUIET + DAY + 8 * HOUR
    for card, payments, pair in (
        ("c11", ((0, "IT"), (40, "FR")), (0, 1)),
        ("c33", ((0, "FR"), (60, "ES")), (0, 1)),  # exactly an hour
        ("c37", ((0, "FR"), (10, None), (30, "DE")), (0, 2)),  # the one between was made on the web
        ("c05", ((0, "FR"), (50, "FR"), (70, "IT")), (1, 2)),  # the nearer of the two
        ("c19", ((0, "IT"), (61, "ES")), None),  # too late
        ("c25", ((0, "FR"), (10, None), (20, "FR")), None),  # nowhere else
    ):
        for minute, where in payments:
            add(card, begin + minute * MINUTE, 25.00, where, "web" if where is None else "kiosk")
        if pair:
            (first, from_), (second, to) = payments[pair[0]], payments[pair[1]]
            times = (begin + first * MINUTE, begin + second * MINUTE)
            answers.append((card, from_, to, *times, second - first))
        add(card, begin + DAY, 30.00, country[card])
    return sorted(answers, key=lambda answer: (answer[4], answer[0]))


def make_machine_events() -> Made:
    """Readings of a sensor every ten minutes, and failures.

    Noise: the temperature goes up and down in turns, so two readings never rise in a row.
    """
    chance = random.Random(13)
    rows: list[tuple[Any, ...]] = []
    answers = []
    # Machine: first reading of the rise, readings in it, minutes from the last one to the failure, whether found.
    planted: dict[str, tuple[int, int, int, bool]] = {
        "m02": (50, 7, 4, True),
        "m05": (20, 6, 9, True),  # just long enough
        "m12": (90, 12, 30, True),  # the sensor went silent, and failure came after exactly half an hour
        "m07": (60, 5, 4, False),  # too short
        "m09": (40, 9, 40, False),  # silent for too long
        "m11": (70, 0, 4, False),  # without any warning
    }
    for machine in (f"m{number:02}" for number in range(1, 13)):
        first, length, wait, found = planted.get(machine, (999, 0, 0, False))
        low = 58 + chance.random() * 4
        stop = first + length
        rise: list[tuple[datetime, float]] = []
        for number in range(144):
            at = START + number * 10 * MINUTE
            noise = round(low + (number % 2) * 2 + chance.random(), 1)
            is_silent = machine in planted and stop <= number < stop + 8
            if first <= number < stop:
                # The reading before is an odd, high one: the rise begins below it.
                rise.append((at, round(low - 1 + 1.5 * (number - first), 1)))
                rows.append((machine, at, "reading", rise[-1][1]))
            elif not is_silent:
                rows.append((machine, at, "reading", noise))
        if machine in planted:
            failed = START + (stop - 1) * 10 * MINUTE + wait * MINUTE
            rows.append((machine, failed, "failure", None))
            if found:
                answers.append((machine, rise[0][0], failed, length, rise[0][1], rise[-1][1]))
    answers.sort(key=lambda answer: answer[2])
    return Made("machine_events", ("machine", "at", "kind", "temperature"), rows, {"rise_before_failure": answers})


def make_page_views() -> Made:
    """Page views of 12 visitors, made session by session.

    Views of a session are at most an hour apart, and its last one is at most two hours behind its first. The next
    session begins more than an hour later, or where two hours are over although the visitor never paused.
    """
    chance = random.Random(19)
    rows: list[tuple[Any, ...]] = []
    answers = []
    for visitor in (f"v{number:02}" for number in range(1, 13)):
        begin = START + 8 * HOUR
        sessions = 3 + int(chance.random() * 5)
        for number in range(1, sessions + 1):
            is_long = chance.random() < 0.4
            times = [begin]
            while is_long or chance.random() < 0.8:
                # Every third pause is a full hour, which does not end the session yet.
                following = times[-1] + _pick(chance, (60, 7, 25)) * MINUTE
                if following > begin + 2 * HOUR:
                    break
                times.append(following)
            # The next one begins a second behind a limit: the visitor was idle, or just went on.
            limit = begin + 2 * HOUR if is_long else times[-1] + HOUR
            end = "end of data" if number == sessions else "limit" if is_long else "idle"
            rows += [(visitor, at, _pick(chance, ("home", "article", "search"))) for at in times]
            seconds = (times[-1] - begin) // timedelta(seconds=1)
            answers.append((visitor, number, begin, times[-1], len(times), seconds, end))
            begin = limit + timedelta(seconds=1)
    answers.sort(key=lambda answer: (-answer[5], answer[0], answer[1]))
    return Made("page_views", ("visitor", "at", "page"), rows, {"sessions_two_limits": answers})


def make_orders() -> Made:
    """Orders, of which most are paid or cancelled within eight minutes."""
    chance = random.Random(14)
    rows: list[tuple[Any, ...]] = []
    # Order: what happened, and after how many seconds. Unpaid ones are found, those paid too late too.
    planted: dict[int, tuple[str, int, bool]] = {
        13: ("", 0, True),
        40: ("paid", 601, True),
        41: ("paid", 600, False),
        66: ("cancelled", 599, False),
        67: ("cancelled", 3600, True),
        120: ("", 0, True),  # nothing comes behind it: the data end
    }
    answers = []
    for number in range(1, 121):
        order = f"o{number:03}"
        created = START + 9 * HOUR + number * 3 * MINUTE + int(chance.random() * 100) * timedelta(seconds=1)
        usual = ("paid" if chance.random() < 0.9 else "cancelled", 20 + int(chance.random() * 460), False)
        event, seconds, found = planted.get(number, usual)
        rows.append((order, created, "created"))
        if event:
            rows.append((order, created + timedelta(seconds=seconds), event))
        if found:
            answers.append((order, created, created + 10 * MINUTE))
    rows.sort(key=lambda row: row[1])
    return Made("orders", ("order_id", "at", "event"), rows, {"order_not_paid": answers})


def make_tickets() -> Made:
    """Support tickets: an e-mail, a call within two days, an escalation within a day, no reply between them.

    Noise: an e-mail and a reply, sometimes a call.
    """
    chance = random.Random(15)
    rows: list[tuple[Any, ...]] = []
    for number in range(1, 61):
        at = START + number * 5 * HOUR
        for event in ("opened", "email", "note", "reply", *(("call",) if chance.random() < 0.3 else ()), "closed"):
            rows.append((f"t{number:03}", at, event))
            at += (1 + int(chance.random() * 30)) * HOUR
    answers = []
    # Events with the hours since the ticket was opened; found: which of them are e-mail, call and escalation.
    for number, events, found in (
        (101, "email 1, call 20, escalate 30", (0, 1, 2)),
        (102, "email 1, note 2, call 49, note 50, escalate 73", (0, 2, 4)),  # exactly two days and one day
        (103, "email 1, email 7, call 30, escalate 40", (0, 2, 3)),  # the first e-mail counts
        (104, "reply 0, email 1, call 20, escalate 30, reply 31", (1, 2, 3)),  # replies outside do not matter
        (105, "email 1, reply 5, call 20, escalate 30", None),
        (106, "email 1, call 20, reply 21, escalate 30", None),
        (107, "email 1, call 50, escalate 51", None),  # 49 hours
        (108, "email 1, call 20, escalate 45", None),  # 25 hours
        (109, "call 1, email 2, escalate 3", None),  # the order is wrong
    ):
        opened = QUIET + number * HOUR
        steps = [(name, opened + int(hours) * HOUR) for name, hours in map(str.split, events.split(","))]
        rows.append((f"t{number}", opened - MINUTE, "opened"))
        rows += [(f"t{number}", at, name) for name, at in steps]
        if found:
            answers.append((f"t{number}", *(steps[index][1] for index in found)))
    answers.sort(key=lambda answer: answer[3])
    return Made("tickets", ("ticket", "at", "event"), rows, {"escalations": answers})


def make_snapshots() -> Made:
    """Daily snapshots of subscriptions: ranges of days with the same plan and seats, written out day by day."""
    chance = random.Random(16)
    rows: list[tuple[Any, ...]] = []
    answers: list[tuple[Any, ...]] = []
    for customer in range(1, 13):
        first, state = date(2026, 1, 1), ("basic", 1)
        while first < date(2026, 3, 1):
            length = 1 + int(chance.random() * 24)
            last = min(first + (length - 1) * DAY, date(2026, 2, 28))
            days = [first + number * DAY for number in range((last - first).days + 1)]
            rows += [(f"k{customer:02}", day, *state) for day in days]
            answers.append((f"k{customer:02}", *state, first, last, len(days)))
            # Another state the day after; or the same one behind a hole of two days; seats may be unknown.
            if chance.random() < 0.2:
                first = last + 3 * DAY
            else:
                first = last + DAY
                state = _pick(chance, [s for s in STATES if s != state])
    return Made("plan_snapshots", ("customer", "day", "plan", "seats"), rows, {"from_to_ranges": answers})


STATES = (("basic", 1), ("basic", None), ("team", 5), ("team", 12), ("business", 12))


def make_bookings() -> Made:
    """Bookings of rooms: stretches of occupied time, each covered by bookings that overlap or touch."""
    chance = random.Random(17)
    rows: list[tuple[Any, ...]] = []
    answers = []
    for room in (f"r{number:02}" for number in range(1, 9)):
        begin = START + 8 * HOUR
        for _ in range(6):
            covered = begin
            pieces = []
            for _ in range(1 + int(chance.random() * 4)):
                # A piece begins where something is covered already, or just where that ends.
                back = int(chance.random() * ((covered - begin) / MINUTE + 1)) if chance.random() < 0.7 else 0
                start = covered - back * MINUTE
                end = covered + (5 + int(chance.random() * 120)) * MINUTE
                pieces.append((room, start, end))
                covered = end
            if chance.random() < 0.5:
                # A short booking inside the first one ends early: comparing with the row before is not enough.
                start, end = pieces[0][1] + MINUTE, pieces[0][1] + 2 * MINUTE
                pieces.append((room, start, end))
            rows += pieces
            answers.append((room, begin, covered, len(pieces)))
            begin = covered + (1 + int(chance.random() * 180)) * MINUTE
    order = [(chance.random(), row) for row in rows]
    return Made(
        "bookings",
        ("room", "starts_at", "ends_at"),
        [row for _, row in sorted(order)],
        {"merged_ranges": answers},
    )


def make_loan_months() -> Made:
    """Days past due of loans at the end of each month, from 2023 on; "." stands for 0, a digit for so many tens.

    Noise: 60 loans that are never more than 20 days late.
    """
    chance = random.Random(18)
    rows: list[tuple[Any, ...]] = []
    answers = []

    def month(index: int) -> date:
        return date(2023 + index // 12, index % 12 + 1, 1)

    def add(loan: str, history: str) -> None:
        rows.extend((loan, month(i), 0 if c == "." else 10 * int(c)) for i, c in enumerate(history))

    for number in range(1, 61):
        add(f"n{number:02}", "".join(_pick(chance, ".......12") for _ in range(24)))
    # Found: first and last late month, longest delay, and the third clear month behind; all as positions.
    for loan, history, found in (
        ("p01", "...1369...........", [(4, 6, 90, 9)]),
        (
            "p02",
            "..3...3...3..3....",
            [(2, 2, 30, 5), (6, 6, 30, 9), (10, 13, 30, 16)],
        ),  # two clear months are not enough
        ("p03", "..36963.1..1...3..", [(2, 6, 90, 14), (15, 15, 30, None)]),  # slightly late is not clear; still open
        ("p04", "3.................", [(0, 0, 30, 3)]),
        ("p05", ".......12.12......", []),
        ("p06", ".............36999", [(13, 17, 90, None)]),
        ("p07", "..............4...", [(14, 14, 40, 17)]),  # cured in the last month there is
    ):
        add(loan, history)
        for first, last, worst, cured in found:
            row = (loan, month(first), month(last), last - first + 1, worst, None if cured is None else month(cured))
            answers.append(row)
    return Made("loan_months", ("loan", "month", "days_past_due"), rows, {"delinquencies": answers})


TABLES = (
    make_logins,
    make_payments,
    make_machine_events,
    make_page_views,
    make_orders,
    make_tickets,
    make_snapshots,
    make_bookings,
    make_loan_months,
)


def text(value: Any) -> str:
    """Write a value as CSV holds it."""
    return "" if value is None else str(value)


def main() -> None:
    """Write the tables."""
    for make in TABLES:
        made = make()
        with (FOLDER / f"{made.table}.csv").open("w", encoding="utf-8", newline="") as file:
            rows = [[text(value) for value in row] for row in made.rows]
            csv.writer(file, lineterminator="\n").writerows([list(made.columns), *rows])


if __name__ == "__main__":
    main()
