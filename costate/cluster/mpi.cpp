#include "costate/cluster/mpi.h"

#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>

#include "costate/cluster/bytes.h"
#include "costate/cluster/worker.h"

namespace costate::cluster {
namespace {

// Messages carry the frames of worker.h; the kind of a frame is its tag.
constexpr int kStop = 1;

void start() {
  int started = 0;
  MPI_Initialized(&started);
  if (started) return;
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  std::atexit([] {
    int ended = 0;
    MPI_Finalized(&ended);
    if (!ended) MPI_Finalize();
  });
}
int ranks() {
  start();
  int count = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  return count;
}

void send_bytes(int rank, int tag, const std::string& bytes) {
  MPI_Send(bytes.data(), int(bytes.size()), MPI_BYTE, rank, tag, MPI_COMM_WORLD);
}
std::string receive_bytes(const MPI_Status& status) {
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  std::string bytes(std::size_t(count), '\0');
  MPI_Recv(bytes.data(), count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return bytes;
}

class Ranks final : public Transport {
 public:
  Ranks() : count_(ranks()), theta_of_(std::size_t(count_)) {}
  ~Ranks() override { stop(); }  // also where no job was begun: they wait for one

  std::string name() const override { return "ranks of MPI"; }
  std::int64_t most_blocks() const override { return std::numeric_limits<std::int64_t>::max(); }
  // A rank that nobody waits for could not be told to stop.
  bool copies_stragglers() const override { return false; }

  void begin(const Job& job) override {
    const Identity identity = identity_of(job);
    job_ = &job;
    if (identity.job == identity_.job) return;
    if (!identity_.job.empty()) stop();  // they serve another job, and join again with this one
    for (int worker = 1; worker < next_; ++worker)
      events_.push_back({.kind = Event::Kind::lost, .worker = worker, .why = "another job"});
    identity_ = identity;
    if (count_ == 1) events_.push_back({.kind = Event::Kind::joined, .worker = 0});
  }
  void send(int worker, const Work& work) override {
    if (worker == 0) {
      const double began = now();
      Event event{.kind = Event::Kind::finished, .worker = 0, .call = work.call, .task = work.task};
      event.part = part_of_node(*job_, *work.theta, work.want, work.task.node);
      event.seconds = now() - began;
      return events_.push_back(std::move(event));
    }
    const auto theta = std::pair(work.call, work.task.point);
    if (theta_of_[std::size_t(worker)] != theta) {
      send_bytes(worker, int(Frame::theta), theta_payload(work));
      theta_of_[std::size_t(worker)] = theta;
    }
    send_bytes(worker, int(Frame::task), task_payload(work));
    ++computing_;
  }
  Event wait(double seconds) override {
    const double until = now() + seconds;
    for (int turn = 0;; ++turn) {
      if (!events_.empty()) {
        Event event = std::move(events_.front());
        events_.pop_front();
        return event;
      }
      int there = 0;
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
      if (there) return event_from(status);
      if (now() >= until) return {};
      if (turn > 100) ::usleep(50);  // leave the core to the ranks that compute
    }
  }
  void end() override {  // also where an Error leaves: what is on its way is of this job
    while (computing_ > 0) {
      MPI_Status status;
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      events_.push_back(event_from(status));
    }
  }

 private:
  Event event_from(const MPI_Status& status) {
    const std::string bytes = receive_bytes(status);
    if (status.MPI_TAG == int(Frame::part)) --computing_;
    next_ = std::max(next_, status.MPI_SOURCE + 1);
    return event_of(status.MPI_SOURCE, Frame(status.MPI_TAG), bytes, identity_);
  }
  void stop() {
    for (int rank = 1; rank < count_; ++rank) send_bytes(rank, kStop, "");
  }

  int count_, next_ = 1, computing_ = 0;
  const Job* job_ = nullptr;
  Identity identity_;
  std::vector<std::pair<std::int64_t, std::int64_t>> theta_of_;  // call and point
  std::deque<Event> events_;
};

// Messages of a split world. Sends are kept until they have arrived, so that they return at once.
class RankChannel final : public Channel {
 public:
  RankChannel() : rank_(mpi_rank()), ranks_(cluster::ranks()) {}
  ~RankChannel() override {
    if (!failed_) finish(true);
  }
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  void fail(const Error& error) override {
    if (failed_) return;
    failed_ = true;
    const std::string words = Writer()
                                  .text(error.message().what)
                                  .text(error.message().where)
                                  .text(error.message().advice)
                                  .integer(error.kind() == Error::Kind::numerics)
                                  .bytes();
    for (int r = 0; r < ranks_; ++r)
      if (r != rank_) put_tagged(r, kFailure, words);
  }

 protected:
  void put(int to, std::string bytes) override { put_tagged(to, kPiece, std::move(bytes)); }
  std::string get(int from) override {
    for (int turn = 0;; ++turn) {
      int there = 0;
      MPI_Status status;
      MPI_Iprobe(from, kPiece, MPI_COMM_WORLD, &there, &status);
      if (there) return receive_bytes(status);
      MPI_Iprobe(MPI_ANY_SOURCE, kFailure, MPI_COMM_WORLD, &there, &status);
      if (there) throw_failure(receive_bytes(status));
      if (turn % 64 == 0) finish(false);
      if (turn > 20000) ::usleep(20);  // the other rank needs the core more than we do
    }
  }

 private:
  static constexpr int kPiece = 2, kFailure = 3;
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
  [[noreturn]] void throw_failure(const std::string& words) {
    failed_ = true;
    Reader from(words);
    Error::Message message;
    message.what = from.text(), message.where = from.text(), message.advice = from.text();
    throw Error(message, from.integer() != 0 ? Error::Kind::numerics : Error::Kind::input);
  }
  int rank_, ranks_;
  bool failed_ = false;
  std::deque<Sent> sent_;  // stay where they are until they have arrived
};

}  // namespace

std::unique_ptr<Channel> mpi_channel() {
  start();
  return std::make_unique<RankChannel>();
}

int mpi_rank() {
  start();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

std::unique_ptr<Transport> mpi() { return std::make_unique<Ranks>(); }

void mpi_serve(const Job& job) {
  start();
  const Identity me = identity_of(job);
  send_bytes(0, int(Frame::hello), Writer().text(me.version).text(me.instruction_set).text(me.job).bytes());
  std::vector<double> theta;
  Want want = Want::gradient;
  while (true) {
    MPI_Status status;
    int there = 0;
    for (int turn = 0; !there; ++turn) {  // MPI_Probe would keep a core busy
      MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
      if (!there && turn > 1000) ::usleep(50);
    }
    const std::string payload = receive_bytes(status);
    if (status.MPI_TAG == kStop) return;
    Reader from(payload);
    if (status.MPI_TAG == int(Frame::theta)) {
      want = from.integer() != 0 ? Want::gradient : Want::value;
      theta = from.numbers();
      continue;
    }
    send_bytes(0, int(Frame::part), answer_to_task(job, theta, want, payload));
  }
}

}  // namespace costate::cluster
