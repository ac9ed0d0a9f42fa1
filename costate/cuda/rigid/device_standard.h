// What the rigid kernels use of the standard library, for a compiler that has none: NVRTC, which takes this
// file for <vector>, <algorithm> and their like (gpu_compiler.cpp). Never included on the host.
//
// A vector of a model (Tree, Constraints) is a view of an image that the host has laid out with its own
// std::vector (model_image.h): three pointers, as in libstdc++. A vector of a step's scratch takes its memory
// from the thread's arena when it is made, and gives nothing back: a thread makes its scratch once.
#pragma once

using size_t = unsigned long;
using ptrdiff_t = long;

namespace costate::cuda {

// Where the vectors that this thread makes next are put.
struct Arena {
  char* next;
  bool measures;  // there is no memory: how much would be taken?
};
extern __shared__ Arena arenas[];
inline Arena& arena() { return arenas[threadIdx.x]; }

}  // namespace costate::cuda

namespace std {

using ::ptrdiff_t;
using ::size_t;
using int8_t = signed char;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long;
using uint64_t = unsigned long;
using ::sqrt;

// --- <type_traits>, <utility>, <limits> ------------------------------------------------------------------

template <class T, T v>
struct integral_constant {
  static constexpr T value = v;
  using value_type = T;
  constexpr operator T() const { return v; }
};
template <bool v>
using bool_constant = integral_constant<bool, v>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool c, class A, class B>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool c, class A, class B>
using conditional_t = typename conditional<c, A, B>::type;

template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;
template <class A, class B>
concept same_as = is_same_v<A, B>;
template <class A, class B>
inline constexpr bool is_convertible_v = __is_convertible_to(A, B);
template <class A, class B>
concept convertible_to = is_convertible_v<A, B>;

template <class T>
struct remove_cvref {
  using type = T;
};
template <class T>
struct remove_cvref<const T> : remove_cvref<T> {};
template <class T>
struct remove_cvref<T&> : remove_cvref<T> {};
template <class T>
struct remove_cvref<T&&> : remove_cvref<T> {};
template <class T>
using remove_cvref_t = typename remove_cvref<T>::type;
template <class T>
struct type_identity {
  using type = T;
};
template <class T>
using type_identity_t = typename type_identity<T>::type;

template <class T>
inline constexpr bool is_integral_v =
    is_same_v<T, int> || is_same_v<T, long> || is_same_v<T, unsigned> || is_same_v<T, unsigned long> ||
    is_same_v<T, bool> || is_same_v<T, char> || is_same_v<T, signed char> || is_same_v<T, unsigned char> ||
    is_same_v<T, short> || is_same_v<T, unsigned short> || is_same_v<T, long long> ||
    is_same_v<T, unsigned long long>;
template <class T>
inline constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, double>;
template <class T>
inline constexpr bool is_arithmetic_v = is_integral_v<T> || is_floating_point_v<T>;
template <class T>
concept integral = is_integral_v<T>;
template <class A, class B>
struct common_type {
  using type = decltype(true ? A() : B());
};
template <class A, class B>
using common_type_t = typename common_type<A, B>::type;

template <class T>
struct numeric_limits;
template <>
struct numeric_limits<int> {
  static constexpr int min() { return -0x7fffffff - 1; }
  static constexpr int max() { return 0x7fffffff; }
};
template <>
struct numeric_limits<long> {
  static constexpr long min() { return -0x7fffffffffffffff - 1; }
  static constexpr long max() { return 0x7fffffffffffffff; }
};
template <>
struct numeric_limits<float> {
  static constexpr float epsilon() { return 0x1p-23f; }
  static constexpr float max() { return 0x1.fffffep127f; }
  static constexpr float infinity() { return __builtin_bit_cast(float, 0x7f800000); }
  static constexpr float quiet_NaN() { return __builtin_bit_cast(float, 0x7fc00000); }
};
template <>
struct numeric_limits<double> {
  static constexpr double epsilon() { return 0x1p-52; }
  static constexpr double max() { return 0x1.fffffffffffffp1023; }
  static constexpr double infinity() { return __builtin_bit_cast(double, 0x7ff0000000000000); }
  static constexpr double quiet_NaN() { return __builtin_bit_cast(double, 0x7ff8000000000000); }
};

template <class T>
constexpr T&& forward(typename type_identity<T>::type& t) {
  return static_cast<T&&>(t);
}
template <class T>
constexpr remove_cvref_t<T>&& move(T&& t) {
  return static_cast<remove_cvref_t<T>&&>(t);
}
template <class T>
void swap(T& a, T& b) {
  T c = a;
  a = b;
  b = c;
}
template <class A, class B>
struct pair {
  A first;
  B second;
};
template <class A, class B>
pair(A, B) -> pair<A, B>;

// --- containers ----------------------------------------------------------------------------------------

template <class T, size_t N>
struct array {
  T e[N];
  constexpr T& operator[](size_t i) { return e[i]; }
  constexpr const T& operator[](size_t i) const { return e[i]; }
  constexpr T* begin() { return e; }
  constexpr T* end() { return e + N; }
  constexpr const T* begin() const { return e; }
  constexpr const T* end() const { return e + N; }
  constexpr size_t size() const { return N; }
};
template <class T, size_t N>
constexpr size_t size(const T (&)[N]) {
  return N;
}

template <class T>
class vector {
 public:
  vector() = default;
  explicit vector(size_t n) {
    costate::cuda::Arena& arena = costate::cuda::arena();
    begin_ = reinterpret_cast<T*>(arena.next);
    end_ = limit_ = begin_ + n;
    arena.next += (n * sizeof(T) + 15) / 16 * 16;
    if (!arena.measures) fill(T());  // zeros, as on the host
  }
  vector(size_t n, const T& value) : vector(n) {
    if (!costate::cuda::arena().measures) fill(value);
  }
  vector(const vector& other) = default;  // of the same numbers
  vector& operator=(const vector&) = default;

  void resize(size_t n) { *this = vector(n); }  // once, before use
  // Of a scratch whose size grows: up to n.
  void reserve(size_t n) {
    vector more(n);
    begin_ = end_ = more.begin_;
    limit_ = more.limit_;
  }
  void lie_at(const T* elsewhere) {  // as many numbers, which are only read
    end_ = limit_ = const_cast<T*>(elsewhere) + size();
    begin_ = const_cast<T*>(elsewhere);
  }
  void clear() { end_ = begin_; }
  void push_back(const T& t) { *end_++ = t; }
  bool empty() const { return begin_ == end_; }
  size_t size() const { return size_t(end_ - begin_); }
  T* data() { return begin_; }
  const T* data() const { return begin_; }
  T* begin() { return begin_; }
  const T* begin() const { return begin_; }
  T* end() { return end_; }
  const T* end() const { return end_; }
  T& operator[](size_t i) { return begin_[i]; }
  const T& operator[](size_t i) const { return begin_[i]; }
  T& back() { return end_[-1]; }
  const T& back() const { return end_[-1]; }

 private:
  void fill(const T& value) {
    for (T& t : *this) t = value;
  }
  T *begin_ = nullptr, *end_ = nullptr, *limit_ = nullptr;
};

// Who only names them reads none of them.
struct string {
  const char* begin_;
  size_t size_;
  char rest_[16];
  string() = default;
  string(const char*) {}
  friend string operator+(const string& a, const string&) { return a; }
  friend string operator+(const char*, const string& b) { return b; }
  friend string operator+(const string& a, const char*) { return a; }
};
struct string_view {
  friend constexpr bool operator!=(string_view, const char*) { return true; }
};
template <class T>
struct shared_ptr {
  T* get() const { return at_; }
  T* operator->() const { return at_; }
  T& operator*() const { return *at_; }
  explicit operator bool() const { return at_ != nullptr; }
  T* at_;
  void* owner_;
};
template <class T>
struct unique_ptr {
  T* get() const { return at_; }
  T* at_ = nullptr;
};

// --- <algorithm> -----------------------------------------------------------------------------------------

template <class T, class U>
void fill(T* begin, T* end, const U& value) {
  for (; begin != end; ++begin) *begin = value;
}
template <class T, class U>
void copy(T* begin, T* end, U* to) {
  for (; begin != end; ++begin) *to++ = *begin;
}
template <class T, class U>
const T* lower_bound(const T* begin, const T* end, const U& value) {
  while (begin != end && *begin < value) ++begin;
  return begin;
}
template <class T>
constexpr const T& min(const T& a, const T& b) {
  return b < a ? b : a;
}
template <class T>
constexpr const T& max(const T& a, const T& b) {
  return a < b ? b : a;
}
inline void* memcpy(void* to, const void* from, size_t n) { return ::memcpy(to, from, n); }

}  // namespace std
