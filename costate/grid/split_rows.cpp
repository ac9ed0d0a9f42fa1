#include "costate/grid/split_rows.h"

#include <algorithm>
#include <string>

namespace costate::grid {
namespace {

using Index = std::int64_t;

template <class Real>
class SplitRows final : public SplitSystem<Real> {
 public:
  SplitRows(const RowsSystem<Real>& whole, const Signature& signature, Channel& channel)
      : SplitSystem<Real>(signature, whole.rows_shape().ny, channel), shape_(whole.rows_shape()) {
    const Index ranks = channel.ranks(), rank = channel.rank();
    if (shape_.ny < ranks * 2 * shape_.halo) {
      throw Error({"a grid of " + std::to_string(shape_.ny) + " rows has too few for " +
                       std::to_string(ranks) + " ranks",
                   {},
                   "a rank needs " + std::to_string(2 * shape_.halo) + " rows: use at most " +
                       std::to_string(std::max<Index>(1, shape_.ny / (2 * shape_.halo))) + " ranks"});
    }
    begin_ = shape_.ny * rank / ranks, end_ = shape_.ny * (rank + 1) / ranks;
    const bool ring = shape_.periodic && ranks > 1;
    south_ = rank > 0 || ring ? int((rank + ranks - 1) % ranks) : -1;
    north_ = rank + 1 < ranks || ring ? int((rank + 1) % ranks) : -1;
    low_ = south_ >= 0 ? shape_.halo : 0, high_ = north_ >= 0 ? shape_.halo : 0;
    std::vector<Index> cells;
    const std::vector<Index> sources = whole.row_sources();
    for (std::size_t c = 0; c < sources.size(); ++c) {
      const Index row = sources[c] / shape_.nx;
      if (row < begin_ || row >= end_) continue;
      controls_.push_back(Index(c));
      cells.push_back(sources[c] + (low_ - begin_) * shape_.nx);
    }
    system_ = whole.with_rows(rows(), cells);
    sums_ = dynamic_cast<const RowsSystem<Real>*>(system_.get());
    work_ = system_->make_workspace();
    whole_ = &whole;
  }

  bool owns(Index row, const Real*) const override { return row >= begin_ && row < end_; }
  Piece<Real> piece(std::vector<Index> elements, const std::vector<Real>& numbers) const override {
    Piece<Real> p;
    for (Index row = begin_; row < end_; ++row) p.elements.push_back(row);
    p.room = rows(), p.first = low_;
    p.numbers.resize(std::size_t(p.room * this->fields.total));
    for (std::size_t i = 0; i < elements.size(); ++i)
      this->fields.write(numbers.data() + Index(i) * this->fields.total, p, low_ + elements[i] - begin_);
    fetch_halo(p);
    return p;
  }

  void begin(const Real* p, const Activity& active) override {
    whole_->check_parameters(p);
    active_ = active;
    p_.clear();
    for (int c = 0; c < shape_.coefficients; ++c)
      for (Index j = begin_ - low_; j < end_ + high_; ++j) {
        const Real* row = p + (c * shape_.ny + (j + shape_.ny) % shape_.ny) * shape_.nx;
        p_.insert(p_.end(), row, row + shape_.nx);
      }
    const Real* constants = p + shape_.coefficients * shape_.ny * shape_.nx;
    p_.insert(p_.end(), constants, constants + shape_.constants);
    p_bar_.assign(p_.size(), Real(0));
    constants_bar_.assign(std::size_t(shape_.constants), Real(0));
    const auto first =
        active.parameters.begin() + std::min<Index>(shape_.coefficients, Index(active.parameters.size()));
    wants_constants_ = std::any_of(first, active.parameters.end(), [](bool flag) { return flag; });
    u_.resize(controls_.size()), u_bar_.resize(controls_.size());
  }

  void step(const StepContext& at, const Real* u, const Piece<Real>& x, Piece<Real>& y,
            std::vector<Real>*) override {
    y.shape_as(x);
    take_controls(u);
    system_->step(at, {x.numbers.data(), u_.data(), p_.data()}, y.numbers.data(), nullptr, *work_);
    fetch_halo(y);
  }

  void step_vjp(const StepContext& at, const Real* u, const Piece<Real>& x, const Piece<Real>&,
                const std::vector<Real>*, Piece<Real>& y_bar, Piece<Real>& x_bar, Real* u_bar) override {
    x_bar.shape_as(x);
    fetch_halo(y_bar);
    take_controls(u);
    std::fill(u_bar_.begin(), u_bar_.end(), Real(0));
    for (std::size_t c = 0; u_bar && c < controls_.size(); ++c) u_bar_[c] = u_bar[controls_[c]];
    system_->step_vjp(at, {x.numbers.data(), u_.data(), p_.data()}, nullptr, y_bar.numbers.data(),
                      {x_bar.numbers.data(), u_bar_.data(), p_bar_.data()}, active_, *work_);
    for (std::size_t c = 0; u_bar && c < controls_.size(); ++c) u_bar[controls_[c]] = u_bar_[c];
    if (wants_constants_) add_constants();
  }

  void end(Real* u_bar, Index knots, Real* p_bar) override {
    if (!p_bar) return;
    share_controls(u_bar, knots);
    const Index cells = shape_.nx * shape_.ny, own = (end_ - begin_) * shape_.nx;
    for (int c = 0; c < shape_.coefficients; ++c) {
      const Real* mine = p_bar_.data() + (c * rows() + low_) * shape_.nx;
      Real* to = p_bar + c * cells;
      for (const std::string& rows_of : this->channel().gather(message_of(mine, own))) {
        const Index count = Index(rows_of.size() / sizeof(Real));
        read_message(rows_of, to, count);
        to += count;
      }
    }
    // The last rank has the sums of all rows.
    const auto all = this->channel().gather(message_of(constants_bar_.data(), shape_.constants));
    read_message(all.back(), p_bar + shape_.coefficients * cells, shape_.constants);
  }

 private:
  Index rows() const { return low_ + end_ - begin_ + high_; }
  void take_controls(const Real* u) {
    for (std::size_t c = 0; c < controls_.size(); ++c) u_[c] = u[controls_[c]];
  }

  // Rows of my neighbours, of all fields in one message. Where both neighbours are one rank, its message up
  // is read first, because it sends down first.
  void fetch_halo(Piece<Real>& p) const {
    const Index count = shape_.halo * shape_.nx, plane = rows() * shape_.nx;
    const auto take = [&](Index row) {
      std::string out;
      for (int f = 0; f < shape_.fields; ++f)
        out += message_of(p.numbers.data() + f * plane + row * shape_.nx, count);
      return out;
    };
    const auto put = [&](const std::string& in, Index row) {
      if (Index(in.size()) != shape_.fields * count * Index(sizeof(Real)))
        throw Error("a halo of another rank has another size");
      for (int f = 0; f < shape_.fields; ++f)
        std::memcpy(p.numbers.data() + f * plane + row * shape_.nx,
                    in.data() + std::size_t(f * count) * sizeof(Real), std::size_t(count) * sizeof(Real));
    };
    if (south_ >= 0) this->channel().send(south_, take(low_), Traffic::halo);
    if (north_ >= 0) this->channel().send(north_, take(rows() - high_ - shape_.halo), Traffic::halo);
    if (north_ >= 0) put(this->channel().receive(north_), rows() - high_);
    if (south_ >= 0) put(this->channel().receive(south_), 0);
  }

  void add_constants() {
    const int count = shape_.constants, rank = this->channel().rank();
    std::vector<double> total(std::size_t(count), 0.0);
    if (rank > 0) read_message(this->channel().receive(rank - 1), total.data(), count);
    const double* sums = sums_->row_sums(*work_) + low_ * 2 * count;
    for (Index j = begin_; j < end_; ++j, sums += 2 * count)
      for (int c = 0; c < count; ++c) total[std::size_t(c)] += sums[2 * c];
    if (rank + 1 < this->channel().ranks())
      return this->channel().send(rank + 1, message_of(total.data(), count), Traffic::sums);
    for (int c = 0; c < count; ++c) constants_bar_[std::size_t(c)] += Real(total[std::size_t(c)]);
  }

  // Each control's cotangent is its rank's.
  void share_controls(Real* u_bar, Index knots) {
    const Index all_controls = this->signature().controls();
    if (!u_bar || all_controls == 0) return;
    std::vector<Index> head = controls_;
    head.insert(head.begin(), Index(controls_.size()));
    std::string mine = message_of(head.data(), Index(head.size()));
    for (Index k = 0; k < knots; ++k)
      for (Index c : controls_) mine += message_of(u_bar + k * all_controls + c, 1);
    for (const std::string& message : this->channel().gather(std::move(mine))) {
      Index count = 0;
      std::memcpy(&count, message.data(), sizeof count);
      std::vector<Index> which(std::size_t(count), 0);
      std::memcpy(which.data(), message.data() + sizeof count, which.size() * sizeof(Index));
      const char* from = message.data() + (which.size() + 1) * sizeof(Index);
      for (Index k = 0; k < knots; ++k)
        for (Index c : which) {
          std::memcpy(u_bar + k * all_controls + c, from, sizeof(Real));
          from += sizeof(Real);
        }
    }
  }

  RowsShape shape_;
  Index begin_ = 0, end_ = 0, low_ = 0, high_ = 0;  // rows that are owned; rows of halo before and after
  int south_ = -1, north_ = -1;                     // ranks; -1: none
  std::vector<Index> controls_;                     // that drive cells of this rank
  const RowsSystem<Real>* whole_ = nullptr;
  std::shared_ptr<const System<Real>> system_;  // of the rows that are here
  const RowsSystem<Real>* sums_ = nullptr;
  std::unique_ptr<Workspace> work_;
  Activity active_;
  bool wants_constants_ = false;
  std::vector<Real> p_, p_bar_, constants_bar_, u_, u_bar_;
};

}  // namespace

template <class Real>
std::unique_ptr<SplitSystem<Real>> split_rows(const RowsSystem<Real>& whole, const Signature& signature,
                                              Channel& channel) {
  return std::make_unique<SplitRows<Real>>(whole, signature, channel);
}
template std::unique_ptr<SplitSystem<float>> split_rows(const RowsSystem<float>&, const Signature&, Channel&);
template std::unique_ptr<SplitSystem<double>> split_rows(const RowsSystem<double>&, const Signature&,
                                                         Channel&);

}  // namespace costate::grid
