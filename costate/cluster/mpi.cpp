#include "costate/cluster/mpi.h"

#include <unistd.h>

#include <deque>
#include <limits>
#include <map>

#include "costate/cluster/bytes.h"
#include "costate/cluster/mpi_start.h"
#include "costate/cluster/worker.h"

namespace costate::cluster {
namespace {

// Messages carry the frames of worker.h; the kind of a frame is its tag.
constexpr int kStop = 1;

void send_bytes(int rank, int tag, const std::string& bytes) {
  if (bytes.size() > std::size_t(std::numeric_limits<int>::max()))
    throw Error({"a message to another rank has more than 2 GiB", "", "vary fewer numbers at once"});
  MPI_Send(bytes.data(), int(bytes.size()), MPI_BYTE, rank, tag, MPI_COMM_WORLD);
}
// A rank says hello once per job and leaves the job with a stop. The others may have done all blocks before a
// rank has said hello: its hello comes when the pool has gone on, and counting says to which job it belongs.
struct Greetings {
  int stops = 0;
  std::map<int, int> hellos;  // of a rank
  bool late(int rank) { return ++hellos[rank] <= stops; }
};
Greetings& greetings() {
  static Greetings all;
  return all;
}
void stop_all() {
  for (int rank = 1; rank < ranks_of_mpi(); ++rank) send_bytes(rank, kStop, "");
  ++greetings().stops;
}
// Whether the ranks serve and nobody will tell them to stop.
bool& left_alone() {
  static bool alone = false;
  return alone;
}

class Ranks final : public Transport {
 public:
  Ranks() : count_(ranks_of_mpi()), theta_of_(std::size_t(count_)) { left_alone() = false; }
  ~Ranks() override { stop_all(); }  // also where no job was begun: they wait for one

  std::string name() const override { return "ranks of MPI"; }
  std::int64_t most_blocks() const override { return std::numeric_limits<std::int64_t>::max(); }
  // A rank that nobody waits for could not be told to stop.
  bool copies_stragglers() const override { return false; }

  void begin(const Job& job) override {
    const Identity identity = identity_of(job);
    job_ = &job;
    if (identity.job == identity_.job) return;
    if (!identity_.job.empty()) stop_all();  // they serve another job, and join again with this one
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
      if (!messages_.empty()) {
        const Message message = std::move(messages_.front());
        messages_.pop_front();
        if (message.kind != Frame::hello || !greetings().late(message.rank))
          return event_of(message.rank, message.kind, message.bytes, identity_);
        continue;
      }
      if (!events_.empty()) {
        Event event = std::move(events_.front());
        events_.pop_front();
        return event;
      }
      int there = 0;
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
      if (there) {
        receive(status);
        continue;
      }
      if (now() >= until) return {};
      if (turn > 100) ::usleep(50);  // leave the core to the ranks that compute
    }
  }
  // Also where an Error leaves: what is on its way is of this job. It is read later, because it may throw.
  void end() override {
    while (computing_ > 0) {
      MPI_Status status;
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      receive(status);
    }
  }

 private:
  struct Message {
    int rank;
    Frame kind;
    std::string bytes;
  };

  void receive(const MPI_Status& status) {
    messages_.push_back({status.MPI_SOURCE, Frame(status.MPI_TAG), receive_of_mpi(status)});
    if (messages_.back().kind == Frame::part) --computing_;
    next_ = std::max(next_, status.MPI_SOURCE + 1);
  }

  int count_, next_ = 1, computing_ = 0;
  const Job* job_ = nullptr;
  Identity identity_;
  std::vector<std::pair<std::int64_t, std::int64_t>> theta_of_;  // call and point
  std::deque<Message> messages_;                                 // received, and not read yet
  std::deque<Event> events_;
};

}  // namespace

int mpi_rank() {
  start_mpi();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

std::unique_ptr<Transport> mpi() { return std::make_unique<Ranks>(); }

void mpi_deal() {
  start_mpi();
  left_alone() = true;
  std::atexit([] {
    if (left_alone()) stop_all();
  });
}

void mpi_refuse(const Error& error) {
  start_mpi();
  send_bytes(0, int(Frame::error), to_bytes(error));
}

void mpi_serve(const Job& job) {
  start_mpi();
  send_bytes(0, int(Frame::hello), to_bytes(identity_of(job)));
  std::vector<double> theta;
  Want want = Want::gradient;
  while (true) {
    MPI_Status status;
    int there = 0;
    for (int turn = 0; !there; ++turn) {  // MPI_Probe would keep a core busy
      MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
      if (!there && turn > 1000) ::usleep(50);
    }
    const std::string payload = receive_of_mpi(status);
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
