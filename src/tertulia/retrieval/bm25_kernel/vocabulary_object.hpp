// The Python type `Vocabulary`.
#pragma once

#include "../kernel/buffer.hpp"

namespace tertulia {

// A new reference to the type, or null with a Python error set.
PyObject* make_vocabulary_type();

}  // namespace tertulia
