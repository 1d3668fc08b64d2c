// The Python side: the function `scan`, and the type `Buffer`, memory that Arrow reads where it stands.
#include "python.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "scan.hpp"

namespace {

using tertulia::Column;
using tertulia::Kind;
using tertulia::Memory;
using tertulia::Scan;

// ---------------------------------------------------------------- the type of what is handed over

struct BufferObject {
    PyObject_HEAD
    Memory* memory;
};

int buffer_view(PyObject* self, Py_buffer* view, int flags) {
    Memory& memory = *reinterpret_cast<BufferObject*>(self)->memory;
    return PyBuffer_FillInfo(view, self, memory.data(), static_cast<Py_ssize_t>(memory.size()), 1, flags);
}

void buffer_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    delete reinterpret_cast<BufferObject*>(self)->memory;
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

PyType_Slot buffer_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(buffer_view)},
    {Py_tp_dealloc, reinterpret_cast<void*>(buffer_dealloc)},
    {0, nullptr},
};

PyType_Spec buffer_spec = {
    "tertulia.stackexchange._rows.Buffer", sizeof(BufferObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, buffer_slots,
};

PyObject* hand_over(PyTypeObject* type, Memory&& memory) {
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    Memory* owned = new Memory(std::move(memory));
    PyObject* self = allocate(type, 0);
    if (self == nullptr) {
        delete owned;
    } else {
        reinterpret_cast<BufferObject*>(self)->memory = owned;
    }
    return self;
}

// ---------------------------------------------------------------- the module's own

struct State {
    PyTypeObject* buffer_type;
};

State& state_of(PyObject* module) { return *static_cast<State*>(PyModule_GetState(module)); }

int fill_module(PyObject* module) {
    PyObject* type = PyType_FromModuleAndSpec(module, &buffer_spec, nullptr);
    if (type == nullptr) return -1;
    state_of(module).buffer_type = reinterpret_cast<PyTypeObject*>(type);
    return PyModule_AddObjectRef(module, "Buffer", type);
}

int visit_module(PyObject* module, visitproc visit, void* arg) {
    Py_VISIT(state_of(module).buffer_type);
    return 0;
}

int clear_module(PyObject* module) {
    Py_CLEAR(state_of(module).buffer_type);
    return 0;
}

// ---------------------------------------------------------------- what is asked

// (attribute, kind, required)
bool read_column(PyObject* tuple, Scan& scan) {
    const char* attribute = nullptr;
    int kind = 0, required = 0;
    if (!PyArg_ParseTuple(tuple, "sip", &attribute, &kind, &required)) return false;
    if (kind < 0 || kind >= tertulia::kKinds) {
        PyErr_Format(PyExc_ValueError, "there is no kind %d", kind);
        return false;
    }
    if (required != 0) scan.required |= std::uint64_t{1} << scan.columns.size();
    scan.columns.emplace_back();
    scan.columns.back().attribute = attribute;
    scan.columns.back().kind = static_cast<Kind>(kind);
    return true;
}

bool read_request(PyObject* columns, int keep, PyObject* values, Py_ssize_t most_problems, Scan& scan) {
    const Py_ssize_t count = PyTuple_Size(columns);
    if (count > static_cast<Py_ssize_t>(tertulia::kMostColumns)) {
        PyErr_SetString(PyExc_ValueError, "a table has at most 64 columns");
        return false;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* column = PyTuple_GetItem(columns, i);
        if (!PyTuple_Check(column)) {
            PyErr_SetString(PyExc_TypeError, "a column is a tuple of attribute, kind, required");
            return false;
        }
        if (!read_column(column, scan)) return false;
    }
    if (keep >= count || (keep >= 0 && scan.columns[static_cast<std::size_t>(keep)].kind != Kind::kInteger)) {
        PyErr_SetString(PyExc_ValueError, "rows are kept by a column of integers");
        return false;
    }
    scan.keep = keep;
    for (Py_ssize_t i = 0; i < PyTuple_Size(values); ++i) {
        const long long value = PyLong_AsLongLong(PyTuple_GetItem(values, i));
        if (value == -1 && PyErr_Occurred() != nullptr) return false;
        scan.keep_values.push_back(value);
    }
    std::sort(scan.keep_values.begin(), scan.keep_values.end());
    scan.most_problems = most_problems < 0 ? 0 : static_cast<std::size_t>(most_problems);
    return true;
}

// ---------------------------------------------------------------- what is given

// Puts an item, whose reference it takes, into a list or ends with an error.
bool append(PyObject* list, PyObject* item) {
    if (item == nullptr) return false;
    const int result = PyList_Append(list, item);
    Py_DECREF(item);
    return result == 0;
}

// (null count, validity or none where nothing is null, offsets of texts, values): all but the first as pyarrow takes them.
PyObject* column_tuple(PyTypeObject* buffer, Column& column) {
    PyObject* buffers = PyList_New(0);
    if (buffers == nullptr) return nullptr;
    bool sound = column.nulls == 0 ? PyList_Append(buffers, Py_None) == 0
                                   : append(buffers, hand_over(buffer, std::move(column.validity)));
    if (sound && column.kind == Kind::kText) sound = append(buffers, hand_over(buffer, std::move(column.offsets)));
    if (sound) sound = append(buffers, hand_over(buffer, std::move(column.values)));
    PyObject* tuple = sound ? Py_BuildValue("(nO)", static_cast<Py_ssize_t>(column.nulls), buffers) : nullptr;
    Py_DECREF(buffers);
    return tuple;
}

PyObject* answer_of(PyTypeObject* buffer, Scan& scan) {
    PyObject* columns = PyList_New(0);
    PyObject* problems = PyList_New(0);
    PyObject* answer = nullptr;
    bool sound = columns != nullptr && problems != nullptr;
    for (std::size_t i = 0; sound && i < scan.columns.size(); ++i) sound = append(columns, column_tuple(buffer, scan.columns[i]));
    for (std::size_t i = 0; sound && i < scan.problems.size(); ++i) {
        const tertulia::Problem& problem = scan.problems[i];
        sound = append(problems, Py_BuildValue("(nnn)", static_cast<Py_ssize_t>(problem.line),
                                               static_cast<Py_ssize_t>(problem.start), static_cast<Py_ssize_t>(problem.end)));
    }
    if (sound) {
        answer = Py_BuildValue("(OnnnnOn)", columns, static_cast<Py_ssize_t>(scan.kept), static_cast<Py_ssize_t>(scan.lines),
                               static_cast<Py_ssize_t>(scan.rows), static_cast<Py_ssize_t>(scan.left_out), problems,
                               static_cast<Py_ssize_t>(scan.problem_count));
    }
    Py_XDECREF(columns);
    Py_XDECREF(problems);
    return answer;
}

// ---------------------------------------------------------------- the function

// Scans without the interpreter's lock, so that other threads run meanwhile.
bool scan_freely(const Py_buffer& data, Scan& scan) {
    bool memory = true;
    Py_BEGIN_ALLOW_THREADS
    try {
        tertulia::scan(static_cast<const std::uint8_t*>(data.buf), static_cast<std::size_t>(data.len), scan);
    } catch (const std::bad_alloc&) {
        memory = false;
    }
    Py_END_ALLOW_THREADS
    if (!memory) PyErr_NoMemory();
    return memory;
}

PyObject* scan(PyObject* module, PyObject* args) {
    Py_buffer data;
    PyObject *columns = nullptr, *values = nullptr;
    int keep = -1;
    Py_ssize_t most_problems = 0;
    if (!PyArg_ParseTuple(args, "y*O!iO!n", &data, &PyTuple_Type, &columns, &keep, &PyTuple_Type, &values, &most_problems)) {
        return nullptr;
    }
    PyObject* answer = nullptr;
    if (data.len > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "the data is 2 GiB or more");
    } else {
        try {
            Scan scan;
            if (read_request(columns, keep, values, most_problems, scan) && scan_freely(data, scan)) {
                answer = answer_of(state_of(module).buffer_type, scan);
            }
        } catch (const std::bad_alloc&) {
            PyErr_NoMemory();
        }
    }
    PyBuffer_Release(&data);
    return answer;
}

PyMethodDef module_methods[] = {
    {"scan", scan, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(fill_module)},
    {0, nullptr},
};

PyModuleDef rows_module = {
    PyModuleDef_HEAD_INIT, "tertulia.stackexchange._rows", nullptr, sizeof(State), module_methods, module_slots, visit_module, clear_module,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__rows() { return PyModuleDef_Init(&rows_module); }
