#include "costate/cluster/processes.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <filesystem>
#include <thread>

#include "costate/cluster/worker.h"

extern char** environ;

namespace costate::cluster {
namespace {

struct Process {
  pid_t pid = 0;
  int socket = -1;
  std::string arrived = {};            // of a message that is not whole yet
  std::int64_t call = -1, point = -1;  // whose theta it has
  bool ready = false;
};

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

[[noreturn]] void system_error(const std::string& what) {
  throw Error({what + ": " + std::strerror(errno), "processes", "start fewer workers"});
}

int threads_now() {
  std::error_code trouble;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", trouble))
    (void)entry, ++count;
  return count;
}

// A thread that was joined may be listed for a moment longer: Linux wakes whoever joins it first and takes it
// off the list afterwards, on a busy machine much later. So threads count only if they stay.
int threads_of_this_process() {
  int count = threads_now();
  for (int tries = 0; count > 1 && tries < 100; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    count = threads_now();
  }
  return count;
}

class Processes final : public Transport {
 public:
  Processes(int workers, std::vector<std::string> program) : wanted_(workers), program_(std::move(program)) {}
  ~Processes() override {
    while (!all_.empty()) stop(all_.begin()->first);
  }

  std::string name() const override { return "processes"; }

  void begin(const Job& job) override {
    const Identity identity = identity_of(job);
    if (identity.job != identity_.job) {  // what the workers compute is another job
      while (!all_.empty()) retire(all_.begin()->first);
      identity_ = identity;
    }
    job_ = &job;
    while (int(all_.size()) < wanted_) start();
  }
  // Forks that are made later need a job that is still there: none are, until the next begin().
  void end() override { job_ = nullptr; }

  void resize(int workers) override {
    if (workers < 1) throw Error({"a pool of " + std::to_string(workers) + " processes", "", "at least 1"});
    wanted_ = workers;
    while (int(all_.size()) > wanted_) retire(all_.begin()->first);
    while (job_ != nullptr && int(all_.size()) < wanted_) start();
  }

  void send(int worker, const Work& work) override {
    const auto found = all_.find(worker);
    if (found == all_.end()) return;  // its loss is on the way
    Process& process = found->second;
    std::string bytes;
    if (process.call != work.call || process.point != work.task.point) {
      bytes = frame(Frame::theta, theta_payload(work));
      process.call = work.call, process.point = work.task.point;
    }
    bytes += frame(Frame::task, task_payload(work));
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::send(process.socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;  // it has died: wait() will see it
      done += std::size_t(n);
    }
  }

  Event wait(double seconds) override {
    if (!events_.empty()) return next_event();
    std::vector<pollfd> sockets;
    std::vector<int> workers;
    for (const auto& [worker, process] : all_) {
      sockets.push_back({process.socket, POLLIN, 0});
      workers.push_back(worker);
    }
    const int milliseconds = int(std::ceil(1e3 * std::clamp(seconds, 0.0, 1e3)));
    if (::poll(sockets.data(), sockets.size(), milliseconds) <= 0) return {};
    for (std::size_t i = 0; i < sockets.size(); ++i)
      if (sockets[i].revents != 0) receive(workers[i]);
    return events_.empty() ? Event{} : next_event();
  }

 private:
  Event next_event() {
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

  void receive(int worker) {
    Process& process = all_.at(worker);
    buffer_.resize(1 << 20);
    const ssize_t n = ::recv(process.socket, buffer_.data(), buffer_.size(), 0);
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) return replace(worker);
    process.arrived.append(buffer_.data(), std::size_t(n));
    Frame kind;
    std::string payload;
    while (take_frame(process.arrived, kind, payload)) {
      events_.push_back(event_of(worker, kind, payload, identity_));
      process.ready = true;
    }
  }

  // A worker has died. One that never said hello would die again.
  void replace(int worker) {
    const bool was_ready = all_.at(worker).ready;
    const std::string why = how_it_ended(stop(worker));
    if (!was_ready)
      throw Error({"a worker ended before it was ready, by " + why, "processes",
                   program_.empty() ? "" : "does this run by itself: " + program_[0] + "?"});
    events_.push_back({.kind = Event::Kind::lost, .worker = worker, .why = why});
    if (job_ != nullptr && int(all_.size()) < wanted_) start();
  }
  void retire(int worker) {
    stop(worker);
    events_.push_back({.kind = Event::Kind::lost, .worker = worker, .why = "being sent away"});
  }
  // Its exit status.
  int stop(int worker) {
    const Process process = all_.at(worker);
    all_.erase(worker);
    ::close(process.socket);
    ::kill(process.pid, SIGKILL);  // what it computes is of no interest any more
    int status = 0;
    while (::waitpid(process.pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  void start() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) system_error("no socket");
    try {
      Process process{.pid = program_.empty() ? forked(ends) : spawned(ends[1]), .socket = ends[0]};
      ::close(ends[1]);
      const int worker = next_++;
      all_.emplace(worker, process);
      if (!program_.empty()) {
        const std::string bytes = frame(Frame::job, job_payload(identity_, job_->description()));
        for (std::size_t done = 0; done < bytes.size();) {
          const ssize_t n = ::send(ends[0], bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
          if (n < 0 && errno == EINTR) continue;
          if (n <= 0) break;
          done += std::size_t(n);
        }
      }
    } catch (...) {
      ::close(ends[0]), ::close(ends[1]);
      throw;
    }
  }

  pid_t forked(const int ends[2]) const {
    const int threads = threads_of_this_process();
    if (threads > 1)
      throw Error({"this process has " + std::to_string(threads) +
                       " threads, and a fork would copy one of them and the locks of all",
                   "processes",
                   "call the pool before anything runs in parallel (the first simulation here starts "
                   "threads), or use a worker program: processes(n, {\"costate\", \"work\"})"});
    const pid_t driver = ::getpid(), pid = ::fork();
    if (pid < 0) system_error("no fork");
    if (pid > 0) return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != driver) ::_exit(0);
    ::signal(SIGINT, SIG_IGN);   // Ctrl-C is for the driver
    ::signal(SIGPIPE, SIG_IGN);  // it may go first
    ::close(ends[0]);
    for (const auto& [worker, process] : all_) ::close(process.socket);
    int code = 3;
    try {
      code = serve(ends[1], ends[1], *job_);
    } catch (...) {  // what is lost here is done again, and blamed if it keeps happening
    }
    ::_exit(code);
  }

  pid_t spawned(int end) const {
    if (job_->description().empty())
      throw Error({"this job has no description that a worker program could make it from", "processes",
                   "leave the program out: forks compute any job"});
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : program_) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_t pid = 0;
    const int trouble = ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (trouble != 0)
      throw Error({"a worker cannot be started: " + std::string(std::strerror(trouble)), program_[0],
                   "is it installed, and in PATH?"});
    return pid;
  }

  int wanted_, next_ = 0;
  std::vector<std::string> program_;
  const Job* job_ = nullptr;
  Identity identity_;
  std::map<int, Process> all_;
  std::deque<Event> events_;
  std::string buffer_;
};

}  // namespace

std::unique_ptr<Transport> processes(int workers, std::vector<std::string> program) {
  if (workers < 0)
    throw Error({"a pool of " + std::to_string(workers) + " processes", "", "0: one per core"});
  const int cores = std::max(1, int(std::thread::hardware_concurrency()));
  return std::make_unique<Processes>(workers == 0 ? cores : workers, std::move(program));
}

}  // namespace costate::cluster
