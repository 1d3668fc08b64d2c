// A segment whose arrays are buffers of Python objects.
#pragma once

#include "python.hpp"

#include <cstddef>

#include "segment.hpp"

namespace tertulia {

// A borrowed, contiguous, read-only buffer, released when it goes.
class Buffer {
public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (held_) PyBuffer_Release(&view_);
    }

    bool take(PyObject* object) {
        held_ = PyObject_GetBuffer(object, &view_, PyBUF_SIMPLE) == 0;
        return held_;
    }
    template <class T>
    const T* as() const { return static_cast<const T*>(view_.buf); }
    template <class T>
    std::size_t count() const { return static_cast<std::size_t>(view_.len) / sizeof(T); }

private:
    Py_buffer view_{};
    bool held_ = false;
};

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
