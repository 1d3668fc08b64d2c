// A segment whose arrays are buffers of Python objects.
#pragma once

#include "buffer.hpp"

#include "segment.hpp"

namespace tertulia {

// The arrays of a segment, in the order in which engine.py gives them.
enum Part {
    kRow, kSignature, kTerm, kNorm, kContextFirst, kContextRow, kContextBlock, kContextLeast, kContextMost, kResponseFirst,
    kResponseRow, kResponseBlock, kResponseLeast, kWeight, kWordBit, kWordOffset, kWordBytes, kWordSlot, kDialogueRow,
    kDialogueNumber, kAbsentWords, kDeadDialogues, kParts
};

struct OpenSegment {
    Buffer part[kParts];
    Segment segment;
};

// Fills `open` from a tuple of the parts and whether terms are 32-bit; false with a Python error set.
bool open_segment(PyObject* parts, OpenSegment& open);

}  // namespace tertulia
