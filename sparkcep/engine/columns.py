"""Arrow columns as the numbers that kernels work on.

Whole numbers, booleans, dates (days), timestamps and intervals (microseconds) and decimals of
up to 18 digits (unscaled) become int64, fractions float64. What only needs to be ordered and
compared, strings, binaries and long decimals, becomes its rank among all values of its domain in
this call and the literals it is compared with. All arrays that leave here are new, writable
and C-contiguous, so that a kernel is compiled once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.engine.matches import Bools, Float64s, Int64s, UInt64s
from sparkcep.errors import MatchError
from sparkcep.logical.slots import Operand

CodeValue: TypeAlias = str | bytes | Decimal

BITS_PER_MASK = 62
MAX_EXACT_DIGITS = 18
_LOW_BITS = np.uint64(2**BITS_PER_MASK - 1)
_CODE_TYPES = {"string": pa.large_string(), "binary": pa.large_binary()}


class DecodedOperands(NamedTuple):
    """Operand columns as numbers, in the order of the operands.

    Attributes
    ----------
    integers : int64[k, n]
        Operands of kind "bool", "int" and "code".
    integer_nulls : bool[k, n]
    floats : float64[m, n]
        Operands of kind "float".
    float_nulls : bool[m, n]
    codes
        The code of every literal, by domain.
    """

    integers: Int64s
    integer_nulls: Bools
    floats: Float64s
    float_nulls: Bools
    codes: dict[str, dict[CodeValue, int]]


def decode_operands(
    table: pa.Table | pa.RecordBatch,
    operands: tuple[Operand, ...],
    literals_by_domain: Mapping[str, Iterable[CodeValue]],
) -> DecodedOperands:
    """Decode the operand columns of `table`.

    Parameters
    ----------
    table
        Holds a column of each operand's name, n rows long.
    operands
        Operands of match-dependent conditions.
    literals_by_domain
        Values that conditions compare codes with: str in domain "string" (the variables' names
        among them, if a condition reads CLASSIFIER()), bytes in "binary", Decimal in "decimal".

    Raises
    ------
    TypeError
        A column has a type that its operand's kind does not allow.
    """
    columns = [_one_array(table.column(operand.column)) for operand in operands]
    kinds = [operand.type.kind for operand in operands]
    wholes = [i for i, kind in enumerate(kinds) if kind != "float"]
    fractions = [i for i, kind in enumerate(kinds) if kind == "float"]
    decoded = DecodedOperands(
        np.empty((len(wholes), table.num_rows), np.int64),
        np.empty((len(wholes), table.num_rows), np.bool_),
        np.empty((len(fractions), table.num_rows), np.float64),
        np.empty((len(fractions), table.num_rows), np.bool_),
        {},
    )
    for place, i in enumerate(wholes):
        decoded.integer_nulls[place] = _null_mask(columns[i])
        if kinds[i] != "code":
            decoded.integers[place] = _integers(columns[i])
    for place, i in enumerate(fractions):
        decoded.float_nulls[place] = _null_mask(columns[i])
        decoded.floats[place] = _floats(columns[i])
    if not literals_by_domain and "code" not in kinds:
        return decoded
    domains = {o.type.domain for o in operands if o.type.kind == "code"} | set(literals_by_domain)
    for domain in sorted(domains):
        members = [i for i in wholes if kinds[i] == "code" and operands[i].type.domain == domain]
        literals = sorted(set(literals_by_domain.get(domain, ())))
        ranks, decoded.codes[domain] = _ranked([columns[i] for i in members], literals, domain)
        for i, rank in zip(members, ranks, strict=True):
            decoded.integers[wholes.index(i)] = rank
    return decoded


def order_values(column: pa.Array | pa.ChunkedArray, first_row: int = 0) -> Int64s | Float64s:
    """Return the values of the order column that WITHIN measures.

    Parameters
    ----------
    column
        Whole numbers, fractions, dates, timestamps, day-time intervals, or decimals of up to 18 digits.
    first_row
        The number of the column's first row, for the error message.

    Raises
    ------
    MatchError
        NULL_ORDER_VALUE: a value is NULL; the message names the row.
    TypeError
        The column has another type.
    """
    array = _one_array(column)
    if array.null_count:
        row = first_row + int(np.argmax(_null_mask(array)))
        raise MatchError(
            "NULL_ORDER_VALUE",
            f"the first order column is NULL at row {row}",
            clause="WITHIN",
            hint="null_order_value='drop' leaves such rows out",
        )
    if pa.types.is_floating(array.type):
        return np.array(_floats(array))
    return np.array(_integers(array))


def condition_words(masks: Sequence[pa.Array | pa.ChunkedArray], always: UInt64s) -> UInt64s:
    """Unpack mask columns: bit ``1 + v % 62`` of column ``v // 62`` belongs to variable v.

    Parameters
    ----------
    masks
        Columns of signed integers of 8 to 64 bits, n rows long. Bit 0 of the first one says
        that a partition starts at the row.
    always : uint64[words]
        The bits of variables whose row-only condition is always true; it also tells the number of words.

    Returns
    -------
    uint64[words, n]
        Bit ``v % 64`` of word ``v // 64``: the row satisfies the row-only condition of v.
    """
    rows = len(masks[0]) if masks else 0
    words = np.empty((len(always), rows), np.uint64)
    words[:] = always[:, np.newaxis]
    for place, mask in enumerate(masks):
        bits = _mask_bits(mask)
        bits = bits >> bits.dtype.type(1)
        word, shift = divmod(place * BITS_PER_MASK, 64)
        if shift or bits.dtype == np.uint64:
            bits = bits.astype(np.uint64) & _LOW_BITS
        if word < len(words):
            words[word] |= bits << np.uint64(shift) if shift else bits
        if shift > 64 - BITS_PER_MASK and word + 1 < len(words):
            words[word + 1] |= bits >> np.uint64(64 - shift)
    return words


class Alternation:
    """Tells where groups start in batches whose first bit is the same for all rows of a group, and another one next.

    Parameters
    ----------
    mask
        The column that holds the bit.
    """

    def __init__(self, mask: str) -> None:
        self.mask = mask
        self.last: Any = None

    def told(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the next batch with a bit where a group starts, in place of one that changes there."""
        place = batch.schema.get_field_index(self.mask)
        masks = batch.column(place).to_numpy(zero_copy_only=False)
        bits = masks & 1
        starts = np.diff(bits, prepend=1 - bits[0] if self.last is None else self.last) != 0
        self.last = bits[-1]
        return batch.set_column(place, self.mask, pa.array((masks & ~1) | starts.astype(masks.dtype)))


def group_starts(first_mask: pa.Array | pa.ChunkedArray) -> Int64s:
    """Return the rows, ascending, at which a partition starts: int64[g]."""
    bits = _mask_bits(first_mask)
    return np.flatnonzero((bits & bits.dtype.type(1)) != 0).astype(np.int64, copy=False)


def _mask_bits(mask: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Return the mask's bits as unsigned numbers of its own width, read-only: most masks are bytes."""
    array = _without_nulls(_one_array(mask))
    values = array.to_numpy(zero_copy_only=False)
    return values.view(f"u{array.type.bit_width // 8}")


def _one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [_empty(column)])
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _empty(column: pa.ChunkedArray) -> pa.Array:
    return pa.array([], column.type)


def _null_mask(array: pa.Array) -> Bools:
    if array.null_count == 0:
        return np.zeros(len(array), np.bool_)
    return np.asarray(pc.is_null(array).to_numpy(zero_copy_only=False))


def _integers(array: pa.Array) -> Int64s:
    """Return whole numbers; a NULL may be anything."""
    kind = array.type
    if pa.types.is_decimal(kind):
        return _unscaled(array)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        micros = pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else pa.duration("us")
        array = (array if kind.unit == "us" else array.cast(micros)).view(pa.int64())
    elif pa.types.is_time64(kind):
        array = array.cast(pa.time64("us")).view(pa.int64())
    elif pa.types.is_date32(kind):
        array = array.view(pa.int32())
    elif not (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        raise TypeError(f"a column of {kind} does not hold whole numbers")
    return np.asarray(_of_type(_without_nulls(array), pa.int64()).to_numpy(zero_copy_only=False))


def _floats(array: pa.Array) -> Float64s:
    """Return fractions; a NULL may be anything."""
    if not pa.types.is_floating(array.type):
        raise TypeError(f"a column of {array.type} does not hold fractions")
    return np.asarray(_of_type(array, pa.float64()).to_numpy(zero_copy_only=False))


def _of_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a column cast to a type; a cast that changes nothing costs as much as some hundred rows."""
    return array if array.type == kind else array.cast(kind)


def _without_nulls(array: pa.Array) -> pa.Array:
    return pc.fill_null(array, _zero(array.type)) if array.null_count else array


@functools.cache
def _zero(kind: pa.DataType) -> pa.Scalar:
    return pa.scalar(0, pa.int8()).cast(kind)


def _unscaled(array: pa.Array) -> Int64s:
    """Return the low words of decimals, which hold the whole unscaled value of up to 18 digits."""
    kind = array.type
    if kind.precision > MAX_EXACT_DIGITS:
        raise TypeError(f"a column of {kind} has more than {MAX_EXACT_DIGITS} digits")
    if kind.bit_width != 128:
        array = array.cast(pa.decimal128(kind.precision, kind.scale))
    if len(array) == 0:
        return np.empty(0, np.int64)
    words = np.frombuffer(array.buffers()[1], np.int64)
    return words[2 * array.offset : 2 * (array.offset + len(array)) : 2]


def _ranked(
    columns: list[pa.Array], literals: list[CodeValue], domain: str
) -> tuple[list[Int64s], dict[CodeValue, int]]:
    """Return the columns' values and the literals as ranks among all of them."""
    arrays = _with_one_type(columns, literals, domain)
    encoded = pa.chunked_array(arrays).dictionary_encode().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    rank_of = _ranks(encoded.dictionary)
    indices = encoded.indices
    # The rank of NULL is never looked at.
    places = _without_nulls(indices).to_numpy(zero_copy_only=False)
    ranks = rank_of[places] if len(rank_of) else np.zeros(len(places), np.int64)
    borders = np.cumsum([len(array) for array in arrays])
    *column_ranks, literal_ranks = np.split(ranks, borders[:-1])
    return column_ranks, dict(zip(literals, literal_ranks.tolist(), strict=True))


def _with_one_type(columns: list[pa.Array], literals: list[CodeValue], domain: str) -> list[pa.Array]:
    """Return the columns and, behind them, the literals as arrays of one type."""
    if domain == "decimal":
        exact = [_scale_of(value) for value in literals]
        scale = max([0, *exact, *(column.type.scale for column in columns)])
        kind = pa.decimal256(76, scale)
    else:
        kind = _CODE_TYPES.get(domain, _CODE_TYPES["string"])
        types = {column.type for column in columns}
        if len(types) == 1 and not types & {pa.string_view(), pa.binary_view()}:
            kind = types.pop()
    return [*(column if column.type == kind else column.cast(kind) for column in columns), pa.array(literals, kind)]


def _scale_of(value: CodeValue) -> int:
    if not isinstance(value, Decimal):
        raise TypeError(f"not a decimal: {value!r}")
    exponent = value.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _ranks(values: pa.Array) -> Int64s:
    """Return the rank of each of some distinct values; strings in unsigned byte order."""
    order = pc.sort_indices(values).to_numpy(zero_copy_only=False)
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values))
    return ranks
