// One large world over ranks of MPI: how they talk to each other, and the device "mpi" (world/ranks.h).
#include <unistd.h>

#include <deque>
#include <limits>

#include "costate/cluster/bytes.h"
#include "costate/cluster/mpi.h"
#include "costate/cluster/mpi_start.h"
#include "costate/cluster/world/ranks.h"
#include "costate/system/devices.h"

namespace costate::cluster {
namespace {

// Messages of a split world. Sends are kept until they have arrived, so that they return at once.
class RankChannel final : public Channel {
 public:
  RankChannel() : rank_(mpi_rank()), ranks_(ranks_of_mpi()) {}
  ~RankChannel() override {
    if (!failed_ && turn_ == 0)
      finish(true);
    else  // a slower rank may still receive what it was sent before: MPI reads these bytes until it ends
      new std::deque<Sent>(std::move(sent_));
  }
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  // After an Error that has stopped all ranks: each of them begins anew. What is still on its way from before
  // is dropped.
  void recover() {
    failed_ = false;
    ++turn_;
  }
  int turn() const { return turn_; }
  void flush() { finish(true); }
  void fail(const Error& error) override {
    if (failed_) return;
    failed_ = true;
    const std::string words = to_bytes(error);
    for (int r = 0; r < ranks_; ++r)
      if (r != rank_) put_tagged(r, tag(kFailure), words);
  }

 protected:
  void put(int to, std::string bytes) override { put_tagged(to, tag(kPiece), std::move(bytes)); }
  std::string get(int from) override {
    for (int look = 0;; ++look) {
      int there = 0;
      MPI_Status status;
      MPI_Iprobe(from, tag(kPiece), MPI_COMM_WORLD, &there, &status);
      if (there) return receive_of_mpi(status);
      MPI_Iprobe(from, tag(kFailure), MPI_COMM_WORLD, &there, &status);
      if (there) {
        // What that rank sent before it failed comes first, and may have arrived between the two questions.
        MPI_Status piece;
        MPI_Iprobe(from, tag(kPiece), MPI_COMM_WORLD, &there, &piece);
        if (there) return receive_of_mpi(piece);
        throw_failure(receive_of_mpi(status));
      }
      if (look % 64 == 0) finish(false), drop();
      if (look > 20000) ::usleep(20);  // the other rank needs the core more than we do
    }
  }

 private:
  // Tags tell the conversations before and after a failure apart; none is one of a pool (mpi.cpp).
  static constexpr int kPiece = 16, kFailure = 17, kTurns = 8000;
  int tag(int kind) const { return kind + 2 * (turn_ % kTurns); }
  // Messages of the conversation before this one.
  void drop() {
    for (int kind : {kPiece, kFailure}) {
      int there = 0;
      MPI_Status status;
      if (turn_ > 0)
        MPI_Iprobe(MPI_ANY_SOURCE, kind + 2 * ((turn_ - 1) % kTurns), MPI_COMM_WORLD, &there, &status);
      if (there) receive_of_mpi(status);
    }
  }
  struct Sent {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void put_tagged(int to, int tag, std::string bytes) {
    if (bytes.size() > std::size_t(std::numeric_limits<int>::max()))
      throw Error({"a message to another rank has more than 2 GiB", {}, "use more ranks"});
    finish(false);
    Sent& sent = sent_.emplace_back();
    sent.bytes = std::move(bytes);
    MPI_Isend(sent.bytes.data(), int(sent.bytes.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD, &sent.request);
  }
  // Forgets what has arrived; `all`: after it has.
  void finish(bool all) {
    while (!sent_.empty()) {
      int done = 1;
      if (all)
        MPI_Wait(&sent_.front().request, MPI_STATUS_IGNORE);
      else
        MPI_Test(&sent_.front().request, &done, MPI_STATUS_IGNORE);
      if (!done) return;
      sent_.pop_front();
    }
  }
  // Passes it on: a rank hears of a failure from the rank that it waits for, whoever has failed.
  [[noreturn]] void throw_failure(const std::string& words) {
    Reader from(words);
    const Error error = error_of(from);
    fail(error);
    throw error;
  }
  int rank_, ranks_, turn_ = 0;
  bool failed_ = false;
  std::deque<Sent> sent_;  // stay where they are until they have arrived
};

// Of the device: one conversation, as long as the program runs.
RankChannel& common_channel() {
  static RankChannel* const channel = (start_mpi(), new RankChannel);
  return *channel;
}

// The others wait for orders until this rank ends.
void lead() {
  static const bool once = [] {
    common_channel();
    std::atexit([] {
      end_following(common_channel());
      common_channel().flush();
    });
    return true;
  }();
  static_cast<void>(once);
}

class RankCrew final : public Crew {
 public:
  Channel& channel() override { return common_channel(); }
  void failed() override { common_channel().recover(); }
  int turn() const override { return common_channel().turn(); }
};

template <class Real>
std::shared_ptr<const Backend<Real>> ranks_as_device(const DeviceChoice&) {
  if (mpi_rank() > 0)
    throw Error({"device = \"mpi\": only the first rank has rollouts", {}, "let the others mpi_follow()"});
  lead();
  return split_backend<Real>([](const System<Real>&) { return std::make_unique<RankCrew>(); });
}

}  // namespace

std::unique_ptr<Channel> mpi_channel() {
  start_mpi();
  return std::make_unique<RankChannel>();
}

void register_mpi() {
  register_devices({"mpi", ranks_as_device<float>, ranks_as_device<double>,
                    [] { return std::vector<DeviceInfo>(); }, "mpi"});
}

void mpi_lead() { lead(); }

template <class Real>
void mpi_follow(const System<Real>& system) {
  while (true) {
    try {
      return follow(static_cast<Channel&>(common_channel()), system);
    } catch (const Error&) {  // the first rank says it, and may go on
      common_channel().recover();
    }
  }
}
template void mpi_follow(const System<float>&);
template void mpi_follow(const System<double>&);

void mpi_fail(const Error& error) { common_channel().fail(error); }

}  // namespace costate::cluster
