// SPDX-License-Identifier: Apache-2.0
// libhvd for C++17, on top of hvd.h; header-only. hvd++(3) has the manual.
//
//     hvd::world world;                                        // joins; leaves at the end of the scope
//     std::vector<float> gradient(1000);
//     hvd::allreduce("gradient", gradient, HVD_AVERAGE);       // in place
//     hvd::future sum = hvd::allreduce_async("sum", gradient, HVD_SUM);
//     sum.wait();                                              // a failure is a hvd::error
//
// Each call comes in two forms. Without a hvd::status argument a failure is an exception of type
// hvd::error; with one, the call stores the failure there, or success, and throws nothing. Own
// mistakes and lost peers are failures alike; error.code() and status.code are an enum hvd_status.
//
// Elements are of type bool, float, double, the integers of 8 to 64 bits that hvd_dtype has, and
// hvd::float16 and hvd::bfloat16, which hold bits and have no arithmetic. A type of yours becomes
// an element type with a specialization of hvd::dtype_of.
//
// Threads: as in hvd.h, every call may be made from any thread. Objects of this header belong to
// one thread at a time.
#ifndef HVD_HPP
#define HVD_HPP

#if __cplusplus < 201703L
#error "hvd.hpp needs C++17"
#endif

#include "hvd.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hvd
{

// ---- failures ----

// What a call has to say: `code` is HVD_OK or an enum hvd_status, `text` is hvd_last_error().
struct status {
    int code = HVD_OK;
    std::string text;

    explicit operator bool() const noexcept { return code >= 0; }
};

class error : public std::runtime_error
{
  public:
    explicit error(const status &failure)
        : std::runtime_error(failure.text.empty() ? hvd_strstatus(failure.code) : failure.text),
          code_(failure.code)
    {
    }

    int code() const noexcept { return code_; }

    // Another rank is lost or has left; the world is broken for good.
    bool is_peer_failure() const noexcept
    {
        return code_ == HVD_ERR_PEER_LOST || code_ == HVD_ERR_PEER_LEFT;
    }

  private:
    int code_;
};

namespace detail
{

inline int keep(int rc, status &result)
{
    result.code = rc < 0 ? rc : HVD_OK;
    result.text = rc < 0 ? hvd_last_error() : "";
    return rc;
}

inline int check(int rc)
{
    status result;
    if (keep(rc, result) < 0)
        throw error(result);
    return rc;
}

// A mistake that the C library cannot see.
inline int refuse(const char *text, status &result)
{
    result.code = HVD_ERR_INVALID;
    result.text = text;
    return HVD_ERR_INVALID;
}

template <class Function> auto or_throw(Function &&function)
{
    status result;
    if constexpr (std::is_void_v<decltype(function(result))>) {
        function(result);
        if (!result)
            throw error(result);
    } else {
        auto value = function(result);
        if (!result)
            throw error(result);
        return value;
    }
}

} // namespace detail

// ---- element types ----

struct float16 {
    std::uint16_t bits; // binary16 of IEEE 754
};

struct bfloat16 {
    std::uint16_t bits; // the upper half of a float
};

// dtype_of<T>::value is the enum hvd_dtype of an element of type T.
template <class T> struct dtype_of;

#define HVD_HPP_DTYPE(type, dtype)                                                                 \
    template <> struct dtype_of<type> : std::integral_constant<hvd_dtype, dtype> {                 \
    }
HVD_HPP_DTYPE(std::uint8_t, HVD_UINT8);
HVD_HPP_DTYPE(std::int8_t, HVD_INT8);
HVD_HPP_DTYPE(std::uint16_t, HVD_UINT16);
HVD_HPP_DTYPE(std::int16_t, HVD_INT16);
HVD_HPP_DTYPE(std::int32_t, HVD_INT32);
HVD_HPP_DTYPE(std::int64_t, HVD_INT64);
HVD_HPP_DTYPE(float, HVD_FLOAT32);
HVD_HPP_DTYPE(double, HVD_FLOAT64);
HVD_HPP_DTYPE(bool, HVD_BOOL);
HVD_HPP_DTYPE(float16, HVD_FLOAT16);
HVD_HPP_DTYPE(bfloat16, HVD_BFLOAT16);
#undef HVD_HPP_DTYPE

// Contiguous elements of somebody else: a pointer and a number. Made from a pointer and a count,
// from an array, and from whatever has data() and size(), such as std::vector and std::span.
template <class T> class span
{
  public:
    using element_type = T;

    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    template <std::size_t N>
    constexpr span(T (&array)[N]) noexcept // NOLINT: implicit, as std::span
        : data_(array), size_(N)
    {
    }

    template <class Container,
              class Element = std::remove_pointer_t<decltype(std::declval<Container &>().data())>,
              class = std::enable_if_t<std::is_convertible_v<Element (*)[], T (*)[]>>>
    constexpr span(Container &&container) noexcept // NOLINT: implicit, as std::span
        : data_(container.data()), size_(container.size())
    {
    }

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t index) const noexcept { return data_[index]; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

namespace detail
{

// The element type of what can become a span; a span of const elements is of inputs only.
template <class Range>
using element_t = std::remove_pointer_t<decltype(span(std::declval<Range &>()).data())>;

template <class Range>
using output_t = std::enable_if_t<!std::is_const_v<element_t<Range>>, element_t<Range>>;

} // namespace detail

// Deduces the element type.
template <class Container>
span(Container &&container) -> span<std::remove_pointer_t<decltype(container.data())>>;
template <class T, std::size_t N> span(T (&)[N]) -> span<T>;

// ---- the world ----

// This process belongs to the world while the object lives. There is one world in a process: make
// one object, in main().
class world
{
  public:
    // Joins, and blocks until every rank has joined; see hvd_init().
    world() { detail::check(hvd_init()); }
    explicit world(status &result) { detail::keep(hvd_init(), result); }

    // Joins, and makes a process set of each list of ranks: sets 1, 2, ... in their order.
    explicit world(const std::vector<std::vector<int>> &sets)
    {
        std::vector<hvd_ranks> given;
        for (const std::vector<int> &set : sets)
            given.push_back({ set.data(), static_cast<int>(set.size()) });
        detail::check(hvd_init_process_sets(given.data(), static_cast<int>(given.size())));
    }

    // Leaves; collectives of this rank that are still in flight fail.
    ~world() { hvd_shutdown(); }
    world(const world &) = delete;
    world &operator=(const world &) = delete;

    int rank() const { return detail::check(hvd_rank()); }
    int size() const { return detail::check(hvd_size()); }
    int local_rank() const { return detail::check(hvd_local_rank()); }
    int local_size() const { return detail::check(hvd_local_size()); }
    int cross_rank() const { return detail::check(hvd_cross_rank()); }
    int cross_size() const { return detail::check(hvd_cross_size()); }
    bool is_homogeneous() const { return detail::check(hvd_is_homogeneous()) != 0; }
};

// Options of a collective: which ranks take part, and factors.
struct options {
    int process_set = 0;  // 0 is the world
    double prescale = 1;  // of each input
    double postscale = 1; // of the result

    bool is_default() const noexcept { return process_set == 0 && prescale == 1 && postscale == 1; }
    hvd_options c() const noexcept { return { process_set, prescale, postscale, nullptr }; }
};

// ---- results of their own size ----

// The rows that an allgather or alltoall has brought, in memory of the library, which the object
// frees.
template <class T> class rows
{
  public:
    rows() = default;
    explicit rows(const hvd_result &result) noexcept : result_(result) {}
    rows(rows &&other) noexcept : result_(std::exchange(other.result_, hvd_result{})) {}
    rows &operator=(rows &&other) noexcept
    {
        std::swap(result_, other.result_);
        return *this;
    }
    rows(const rows &) = delete;
    rows &operator=(const rows &) = delete;
    ~rows() { hvd_result_free(&result_); }

    T *data() const noexcept { return static_cast<T *>(result_.data); }
    std::size_t size() const noexcept { return result_.size / sizeof(T); } // elements
    T *begin() const noexcept { return data(); }
    T *end() const noexcept { return data() + size(); }
    T &operator[](std::size_t index) const noexcept { return data()[index]; }

    // How many ranks there are, and how many rows have come from one of them.
    int ranks() const noexcept { return result_.nrows; }
    std::int64_t from(int rank) const noexcept { return result_.rows[rank]; }

  private:
    hvd_result result_{};
};

// ---- futures ----

// A collective in flight. Its memory is borrowed until the future is waited for; so the destructor
// waits, too, and drops the status. A future that has been waited for, or moved from, is empty.
class future
{
  public:
    future() noexcept = default;
    explicit future(std::int64_t handle) noexcept : handle_(handle) {}
    future(future &&other) noexcept : handle_(std::exchange(other.handle_, none)) {}
    future &operator=(future &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    future(const future &) = delete;
    future &operator=(const future &) = delete;
    ~future()
    {
        if (valid())
            hvd_wait(handle_);
    }

    bool valid() const noexcept { return handle_ != none; }

    // True if wait() would return at once.
    bool ready() const { return valid() && detail::check(hvd_poll(handle_)) == 1; }

    void wait()
    {
        detail::or_throw([&](status &result) { wait(result); });
    }
    void wait(status &result)
    {
        if (!valid())
            detail::refuse("the future is empty", result);
        else
            detail::keep(hvd_wait(std::exchange(handle_, none)), result);
    }

    // False, and the future stays valid, when the time is over first.
    template <class Rep, class Period> bool wait_for(const std::chrono::duration<Rep, Period> &time)
    {
        return detail::or_throw([&](status &result) { return wait_for(time, result); });
    }
    template <class Rep, class Period>
    bool wait_for(const std::chrono::duration<Rep, Period> &time, status &result)
    {
        using std::chrono::milliseconds;
        if (!valid()) {
            detail::refuse("the future is empty", result);
            return false;
        }
        auto ms = std::chrono::ceil<milliseconds>(time).count();
        constexpr auto most = std::numeric_limits<int>::max();
        int rc = hvd_wait_timeout(handle_, ms > most ? most : static_cast<int>(ms), nullptr);
        if (rc == HVD_ERR_TIMEOUT && hvd_poll(handle_) >= 0) {
            result = status{};
            return false;
        }
        handle_ = none;
        return detail::keep(rc, result) >= 0;
    }

    // The handle, which now belongs to the caller.
    std::int64_t release() noexcept { return std::exchange(handle_, none); }

  private:
    static constexpr std::int64_t none = -1;
    std::int64_t handle_ = none;
};

// ---- collectives ----

// A name is "" for none, or that under which every rank submits the same tensor.
namespace detail
{

inline const char *name_or_null(const std::string &name)
{
    return name.empty() ? nullptr : name.c_str();
}

template <class Input, class Output>
hvd_tensor tensor_of(const std::string &name, span<Input> input, span<Output> output,
                     const std::int64_t *dims, int ndims)
{
    static_assert(std::is_same_v<std::remove_const_t<Input>, Output>, "one element type");
    hvd_tensor tensor{};
    tensor.name = name_or_null(name);
    tensor.input = input.data();
    tensor.output = output.data();
    tensor.output_size = output.size() * sizeof(Output);
    tensor.dtype = dtype_of<Output>::value;
    tensor.ndims = ndims;
    tensor.dims = dims;
    return tensor;
}

// Rows of `width` elements each: the shape {rows, width}, or {rows} of single elements.
struct shape {
    std::array<std::int64_t, 2> dims{};
    int ndims = 1;

    bool make(std::size_t size, std::size_t width, status &result)
    {
        if (width == 0 || size % width != 0) {
            refuse("the elements do not divide into rows of this width", result);
            return false;
        }
        dims = { static_cast<std::int64_t>(size / width), static_cast<std::int64_t>(width) };
        ndims = width == 1 ? 1 : 2;
        return true;
    }
};

inline future started(int rc, std::int64_t handle, status &result)
{
    return keep(rc, result) < 0 ? future() : future(handle);
}

template <class T> rows<T> received(future &&pending, status &result)
{
    hvd_result got{};
    if (!pending.valid())
        return {};
    keep(hvd_wait_result(pending.release(), &got), result);
    return rows<T>(got);
}

} // namespace detail

// Reduces over all ranks of the set, in place; every rank gets the whole result.
template <class Range, class T = detail::output_t<Range>>
future allreduce_async(const std::string &name, Range &&data, hvd_op op, status &result,
                       const options &options = {})
{
    span<T> all(data);
    std::int64_t handle = -1, count = static_cast<std::int64_t>(all.size());
    hvd_tensor tensor = detail::tensor_of(name, all, all, &count, 1);
    hvd_options c = options.c();
    int rc = hvd_allreduce_async(&tensor, op, &c, &handle);
    return detail::started(rc, handle, result);
}
template <class Range, class T = detail::output_t<Range>>
future allreduce_async(const std::string &name, Range &&data, hvd_op op,
                       const options &options = {})
{
    return detail::or_throw(
        [&](status &result) { return allreduce_async(name, data, op, result, options); });
}
template <class Range, class T = detail::output_t<Range>>
void allreduce(const std::string &name, Range &&data, hvd_op op, status &result,
               const options &options = {})
{
    span<T> all(data);
    if (options.is_default()) {
        detail::keep(hvd_allreduce(detail::name_or_null(name), all.data(), all.data(), all.size(),
                                   dtype_of<T>::value, op),
                     result);
        return;
    }
    future pending = allreduce_async(name, data, op, result, options);
    if (pending.valid())
        pending.wait(result);
}
template <class Range, class T = detail::output_t<Range>>
void allreduce(const std::string &name, Range &&data, hvd_op op, const options &options = {})
{
    detail::or_throw([&](status &result) { allreduce(name, data, op, result, options); });
}

// Copies the elements of `root` to all other ranks of the set.
template <class Range, class T = detail::output_t<Range>>
future broadcast_async(const std::string &name, Range &&data, int root, status &result,
                       const options &options = {})
{
    span<T> all(data);
    std::int64_t handle = -1, count = static_cast<std::int64_t>(all.size());
    hvd_tensor tensor = detail::tensor_of(name, all, all, &count, 1);
    hvd_options c = options.c();
    int rc = hvd_broadcast_async(&tensor, root, &c, &handle);
    return detail::started(rc, handle, result);
}
template <class Range, class T = detail::output_t<Range>>
future broadcast_async(const std::string &name, Range &&data, int root, const options &options = {})
{
    return detail::or_throw(
        [&](status &result) { return broadcast_async(name, data, root, result, options); });
}
template <class Range, class T = detail::output_t<Range>>
void broadcast(const std::string &name, Range &&data, int root, status &result,
               const options &options = {})
{
    span<T> all(data);
    if (options.is_default()) {
        detail::keep(hvd_broadcast(detail::name_or_null(name), all.data(), all.size(),
                                   dtype_of<T>::value, root),
                     result);
        return;
    }
    future pending = broadcast_async(name, data, root, result, options);
    if (pending.valid())
        pending.wait(result);
}
template <class Range, class T = detail::output_t<Range>>
void broadcast(const std::string &name, Range &&data, int root, const options &options = {})
{
    detail::or_throw([&](status &result) { broadcast(name, data, root, result, options); });
}

// Puts the rows of all ranks together, in order of rank. A row has `width` elements, the same on
// all ranks; the number of rows may differ.
template <class Range, class T = std::remove_const_t<detail::element_t<const Range>>>
rows<T> allgather(const std::string &name, const Range &data, status &result, std::size_t width = 1,
                  const options &options = {})
{
    span<const T> input(data);
    detail::shape shape;
    std::int64_t handle = -1;
    if (!shape.make(input.size(), width, result))
        return {};
    hvd_tensor tensor = detail::tensor_of(name, input, span<T>(), shape.dims.data(), shape.ndims);
    hvd_options c = options.c();
    int rc = hvd_allgather_async(&tensor, &c, &handle);
    return detail::received<T>(detail::started(rc, handle, result), result);
}
template <class Range, class T = std::remove_const_t<detail::element_t<const Range>>>
rows<T> allgather(const std::string &name, const Range &data, std::size_t width = 1,
                  const options &options = {})
{
    return detail::or_throw(
        [&](status &result) { return allgather(name, data, result, width, options); });
}

// Sends splits[i] rows to rank i of the set, and receives rows from each. Without splits every rank
// gets an equal share.
template <class Range, class T = std::remove_const_t<detail::element_t<const Range>>>
rows<T> alltoall(const std::string &name, const Range &data,
                 const std::vector<std::int64_t> &splits, status &result, std::size_t width = 1,
                 const options &options = {})
{
    span<const T> input(data);
    detail::shape shape;
    std::int64_t handle = -1;
    if (!shape.make(input.size(), width, result))
        return {};
    hvd_tensor tensor = detail::tensor_of(name, input, span<T>(), shape.dims.data(), shape.ndims);
    hvd_options c = options.c();
    int rc = hvd_alltoall_async(&tensor, splits.empty() ? nullptr : splits.data(),
                                static_cast<int>(splits.size()), &c, &handle);
    return detail::received<T>(detail::started(rc, handle, result), result);
}
template <class Range, class T = std::remove_const_t<detail::element_t<const Range>>>
rows<T> alltoall(const std::string &name, const Range &data,
                 const std::vector<std::int64_t> &splits = {}, std::size_t width = 1,
                 const options &options = {})
{
    return detail::or_throw(
        [&](status &result) { return alltoall(name, data, splits, result, width, options); });
}

// Reduces, and leaves each rank its share of the rows: hvd_share() tells how many, and `output` has
// room for them.
template <class Range, class Output, class T = detail::output_t<Output>>
void reducescatter(const std::string &name, const Range &data, Output &&output, hvd_op op,
                   status &result, std::size_t width = 1, const options &options = {})
{
    span<const T> input(data);
    detail::shape shape;
    if (!shape.make(input.size(), width, result))
        return;
    hvd_tensor tensor =
        detail::tensor_of(name, input, span<T>(output), shape.dims.data(), shape.ndims);
    hvd_options c = options.c();
    detail::keep(hvd_reducescatter(&tensor, op, &c), result);
}
template <class Range, class Output, class T = detail::output_t<Output>>
void reducescatter(const std::string &name, const Range &data, Output &&output, hvd_op op,
                   std::size_t width = 1, const options &options = {})
{
    detail::or_throw(
        [&](status &result) { reducescatter(name, data, output, op, result, width, options); });
}

// Returns when every rank of the world has come.
inline void barrier(status &result)
{
    detail::keep(hvd_barrier(), result);
}
inline void barrier()
{
    detail::check(hvd_barrier());
}

// This rank has no more data; see hvd_join(). Returns the rank that joined last.
inline int join(status &result)
{
    int last = -1;
    detail::keep(hvd_join(&last), result);
    return last;
}
inline int join()
{
    return detail::or_throw([](status &result) { return join(result); });
}

// ---- process sets ----

// A subset of the ranks. Every rank of the world makes and removes the same sets in the same order;
// so the destructor removes nothing: remove() does, on every rank.
class process_set
{
  public:
    explicit process_set(const std::vector<int> &ranks)
        : id_(detail::check(hvd_add_process_set(ranks.data(), static_cast<int>(ranks.size()))))
    {
    }

    int id() const noexcept { return id_; }
    int rank() const { return detail::check(hvd_process_set_rank(id_)); }
    int size() const { return detail::check(hvd_process_set_size(id_)); }
    bool included() const { return detail::check(hvd_process_set_included(id_)) != 0; }
    void remove() { detail::check(hvd_remove_process_set(id_)); }

  private:
    int id_;
};

// ---- memory ----

// For containers: memory that other ranks of this host read in place; see hvd_alloc().
//     std::vector<float, hvd::allocator<float>> gradient(1000);
template <class T> class allocator
{
  public:
    using value_type = T;

    allocator() noexcept = default;
    template <class Other> allocator(const allocator<Other> &) noexcept {} // NOLINT: implicit

    T *allocate(std::size_t count)
    {
        void *memory = count <= std::numeric_limits<std::size_t>::max() / sizeof(T)
                           ? hvd_alloc(count * sizeof(T))
                           : nullptr;
        if (!memory)
            throw std::bad_alloc();
        return static_cast<T *>(memory);
    }
    void deallocate(T *memory, std::size_t) noexcept { hvd_free(memory); }

    template <class Other> bool operator==(const allocator<Other> &) const noexcept { return true; }
    template <class Other> bool operator!=(const allocator<Other> &) const noexcept
    {
        return false;
    }
};

} // namespace hvd

#endif
