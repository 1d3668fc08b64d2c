#include "open_segment.hpp"

#include <cstdint>

namespace tertulia {
namespace {

// The sizes that Python has checked too; here they keep this file right on its own.
bool fits(const OpenSegment& open) {
    const Buffer* part = open.part;
    const Segment& segment = open.segment;
    const std::size_t rows = segment.rows, words = segment.words, dialogues = segment.dialogues;
    const std::size_t slots = part[kWordSlot].count<std::uint32_t>();
    const auto lists_fit = [&](Part first, Part row, Part block, Part least) {
        return part[first].count<std::uint32_t>() == words + 1 && part[block].count<std::uint32_t>() == words &&
               part[first].as<std::uint32_t>()[words] == part[row].count<std::uint32_t>() &&
               part[least].count<float>() >= part[row].count<std::uint32_t>() / kBlock;
    };
    return part[kNorm].count<double>() == rows && part[kSignature].count<std::uint64_t>() == rows && part[kWordBit].count<char>() == words &&
           part[kWordOffset].count<std::uint32_t>() == words + 1 && slots > 0 && (slots & (slots - 1)) == 0 &&
           part[kDialogueRow].count<std::uint32_t>() == dialogues + 1 &&
           part[kDialogueRow].as<std::uint32_t>()[dialogues] == rows &&
           part[kWordOffset].as<std::uint32_t>()[words] == part[kWordBytes].count<char>() &&
           lists_fit(kContextFirst, kContextRow, kContextBlock, kContextLeast) &&
           lists_fit(kResponseFirst, kResponseRow, kResponseBlock, kResponseLeast) &&
           part[kContextMost].count<float>() == part[kContextLeast].count<float>();
}

}  // namespace

bool open_segment(PyObject* parts, OpenSegment& open) {
    if (!PyTuple_Check(parts) || PyTuple_Size(parts) != kParts + 1) {
        PyErr_Format(PyExc_TypeError, "a segment is a tuple of %d parts", kParts + 1);
        return false;
    }
    for (int i = 0; i < kParts; ++i) {
        if (!open.part[i].take(PyTuple_GetItem(parts, i))) return false;
    }
    const Buffer* part = open.part;
    Segment& segment = open.segment;
    if (part[kRow].count<Row>() == 0 || part[kDialogueRow].count<std::uint32_t>() == 0) {
        PyErr_SetString(PyExc_ValueError, "a segment without records");
        return false;
    }
    segment.wide_terms = PyObject_IsTrue(PyTuple_GetItem(parts, kParts)) == 1;
    segment.rows = static_cast<std::uint32_t>(part[kRow].count<Row>() - 1);
    segment.words = static_cast<std::uint32_t>(part[kWeight].count<double>());
    segment.dialogues = static_cast<std::uint32_t>(part[kDialogueNumber].count<std::int64_t>());
    segment.terms = segment.wide_terms ? part[kTerm].count<std::uint32_t>() : part[kTerm].count<std::uint16_t>();
    if (!fits(open)) {
        PyErr_SetString(PyExc_ValueError, "the arrays of a segment do not fit each other");
        return false;
    }
    segment.row = part[kRow].as<Row>();
    segment.signature = part[kSignature].as<std::uint64_t>();
    segment.term = part[kTerm].as<void>();
    segment.norm = part[kNorm].as<double>();
    segment.context = {part[kContextFirst].as<std::uint32_t>(), part[kContextRow].as<std::uint32_t>(),
                       part[kContextBlock].as<std::uint32_t>(), part[kContextLeast].as<float>()};
    segment.response = {part[kResponseFirst].as<std::uint32_t>(), part[kResponseRow].as<std::uint32_t>(),
                        part[kResponseBlock].as<std::uint32_t>(), part[kResponseLeast].as<float>()};
    segment.context_most = part[kContextMost].as<float>();
    segment.weight = part[kWeight].as<double>();
    segment.word_bit = part[kWordBit].as<std::uint8_t>();
    segment.word_offset = part[kWordOffset].as<std::uint32_t>();
    segment.word_bytes = part[kWordBytes].as<char>();
    segment.word_slot = part[kWordSlot].as<std::uint32_t>();
    segment.slot_mask = static_cast<std::uint32_t>(part[kWordSlot].count<std::uint32_t>() - 1);
    segment.dialogue_row = part[kDialogueRow].as<std::uint32_t>();
    segment.dialogue_number = part[kDialogueNumber].as<std::int64_t>();

    segment.opens.assign(segment.rows + 1);
    for (std::uint32_t i = 0; i <= segment.dialogues; ++i) {
        if (segment.dialogue_row[i] <= segment.rows) segment.opens.set(segment.dialogue_row[i]);
    }
    const std::uint32_t* absent = part[kAbsentWords].as<std::uint32_t>();
    segment.absent.assign(absent, absent + part[kAbsentWords].count<std::uint32_t>());
    const std::size_t dead = part[kDeadDialogues].count<std::uint32_t>();
    if (dead > 0) segment.dead.assign(segment.rows);
    for (std::size_t i = 0; i < dead; ++i) {
        const std::uint32_t dialogue = part[kDeadDialogues].as<std::uint32_t>()[i];
        if (dialogue >= segment.dialogues) continue;
        for (std::uint32_t row = segment.dialogue_row[dialogue]; row < segment.dialogue_row[dialogue + 1]; ++row) {
            if (row < segment.rows) segment.dead.set(row);
        }
    }
    return true;
}

}  // namespace tertulia
