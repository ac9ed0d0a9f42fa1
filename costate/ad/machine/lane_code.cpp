#include "costate/ad/machine/lane_code.h"

#include "costate/ad/machine/x86_operations.h"

namespace costate::ad {
namespace {

class Lowering {
 public:
  Lowering(const StraightCode& code, const CallShape& shape, std::pmr::memory_resource* memory)
      : code_(code), shape_(shape), result_(memory), once_(memory), always_(memory), current_(memory) {}

  LaneCode lower() {
    place_constants_and_inputs();
    place_outputs();
    for (const Instruction& i : code_.instructions) lower(i);
    lower_remaining_outputs();
    append(once_, true);
    append(always_, false);
    return std::move(result_);
  }

 private:
  bool is_shared(std::uint32_t value) const { return result_.values[value].home <= Home::shared; }

  std::uint32_t add_value(Home home, std::size_t index) {
    result_.values.push_back({home, static_cast<std::uint32_t>(index)});
    return static_cast<std::uint32_t>(result_.values.size() - 1);
  }

  // The value in each slot, while the instructions are walked.
  void place_constants_and_inputs() {
    current_.resize(code_.slot_count());
    std::size_t slot = 0;
    for (; slot < code_.constants.size(); ++slot)
      current_[slot] = add_value(Home::pool, x86::kLiterals + slot);
    std::size_t element = 0;
    for (std::size_t f = 0; f < code_.input_sizes.size(); ++f) {
      const bool in_frame = shape_.one_world || shape_.shared[f];
      for (int i = 0; i < code_.input_sizes[f]; ++i, ++element) {
        current_[slot++] = add_value(in_frame ? Home::shared : Home::input, element);
      }
    }
    shared_ = element;
  }

  // Which elements each instruction's value is written to: a value may be written several times.
  void place_outputs() {
    std::size_t f = 0;
    int left = code_.output_sizes.empty() ? 0 : code_.output_sizes[0];
    adds_.assign(code_.output_slots.size(), false);
    written_.assign(code_.output_slots.size(), false);
    for (std::size_t e = 0; e < code_.output_slots.size(); ++e) {
      while (left == 0) left = code_.output_sizes[++f];
      --left;
      adds_[e] = !shape_.one_world && shape_.added[f];
    }
    // The last instruction that writes an output's slot makes its value.
    last_writer_.assign(code_.slot_count(), kNobody);
    for (std::size_t i = 0; i < code_.instructions.size(); ++i) last_writer_[code_.instructions[i].out] = i;
    outputs_of_.assign(code_.slot_count(), kNobody);
    next_output_.assign(code_.output_slots.size(), kNobody);
    for (std::size_t e = code_.output_slots.size(); e-- > 0;) {
      next_output_[e] = outputs_of_[code_.output_slots[e]];
      outputs_of_[code_.output_slots[e]] = e;
    }
  }

  void lower(const Instruction& i) {
    LaneStep step{.op = i.op, .exponent = i.exponent, .arity = info(i.op).arity};
    const std::uint32_t slots[] = {i.a, i.b, i.c};
    bool shared = !shape_.one_world && hoisted_ < kMaxShared;
    for (int k = 0; k < step.arity; ++k) {
      step.operand[k] = current_[slots[k]];
      shared = shared && is_shared(step.operand[k]);
    }
    if (shared) {
      step.value = add_value(Home::shared, shared_ + hoisted_++);
    } else {
      step.value = add_value(Home::strip, i.out - code_.first_register());
    }
    current_[i.out] = step.value;
    (shared ? once_ : always_).push_back(step);
    const std::size_t index = &i - code_.instructions.data();
    if (shared || !x86::is_arithmetic(i.op) || last_writer_[i.out] != index) return;
    for (std::size_t e = outputs_of_[i.out]; e != kNobody; e = next_output_[e]) write(e);
  }

  void write(std::size_t element) {
    LaneStep step{.is_output = true, .adds = adds_[element], .arity = 1};
    step.value = static_cast<std::uint32_t>(element);
    step.operand[0] = current_[code_.output_slots[element]];
    always_.push_back(step);
    written_[element] = true;
  }

  // Inputs, constants, results of functions and of what is computed once.
  void lower_remaining_outputs() {
    for (std::size_t e = 0; e < written_.size(); ++e) {
      if (!written_[e]) write(e);
    }
  }

  void append(const std::pmr::vector<LaneStep>& steps, bool once) {
    bool open = false;
    for (const LaneStep& step : steps) {
      const bool function = !step.is_output && !x86::is_arithmetic(step.op);
      if (!open || function || result_.segments.back().count == kMaxBlock) {
        result_.segments.push_back({static_cast<std::uint32_t>(result_.steps.size()), 0, function, once});
      }
      open = !function;
      ++result_.segments.back().count;
      result_.steps.push_back(step);
    }
  }

  static constexpr std::size_t kNobody = std::size_t(-1);

  const StraightCode& code_;
  const CallShape& shape_;
  LaneCode result_;
  std::pmr::vector<LaneStep> once_, always_;
  std::pmr::vector<std::uint32_t> current_;
  std::pmr::vector<bool> adds_{once_.get_allocator()}, written_{once_.get_allocator()};
  std::pmr::vector<std::size_t> last_writer_{once_.get_allocator()}, outputs_of_{once_.get_allocator()},
      next_output_{once_.get_allocator()};
  std::size_t shared_ = 0, hoisted_ = 0;
};

}  // namespace

LaneCode make_lane_code(const StraightCode& code, const CallShape& shape, std::pmr::memory_resource* memory) {
  return Lowering(code, shape, memory).lower();
}

}  // namespace costate::ad
