#include "costate/cluster/worker.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "costate/cluster/bytes.h"

namespace costate::cluster {
namespace {

constexpr std::size_t kMost = std::size_t(1) << 40;  // bytes of a frame

bool write_all(int to, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(to, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += std::size_t(n);
  }
  return true;
}

bool read_frame(int from, std::string& buffer, Frame& kind, std::string& payload) {
  std::string chunk(1 << 16, '\0');
  while (!take_frame(buffer, kind, payload)) {
    const ssize_t n = ::read(from, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    buffer.append(chunk.data(), std::size_t(n));
  }
  return true;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Answers tasks until the input ends.
int answer_all(int in, int out, const Job& job, std::string& buffer) {
  Frame kind;
  std::string payload;
  std::vector<double> theta;
  Want want = Want::gradient;
  while (read_frame(in, buffer, kind, payload)) {
    Reader from(payload);
    if (kind == Frame::theta) {
      want = from.integer() != 0 ? Want::gradient : Want::value;
      theta = from.numbers();
      continue;
    }
    if (kind != Frame::task) return 2;
    const std::string answer = answer_to_task(job, theta, want, payload);
    if (!write_all(out, frame(Frame::part, answer))) return 0;  // the driver has gone
  }
  return 0;
}
int compute(int in, int out, const Job& job, std::string& buffer) {
  try {
    return answer_all(in, out, job, buffer);
  } catch (const Error& error) {  // of the conversation: one of a block is an answer
    write_all(out, frame(Frame::error, to_bytes(error)));
    return 2;
  }
}

}  // namespace

std::string frame(Frame kind, const std::string& payload) {
  const std::uint64_t length = payload.size() + 1;
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  bytes += char(kind);
  return bytes += payload;
}

bool take_frame(std::string& buffer, Frame& kind, std::string& payload) {
  std::uint64_t length = 0;
  if (buffer.size() < sizeof(length)) return false;
  std::memcpy(&length, buffer.data(), sizeof(length));
  if (length < 1 || length > kMost)
    throw Error({"what arrives is not a message of a worker", "", "does it print to its output?"});
  if (buffer.size() < sizeof(length) + length) return false;
  kind = Frame(buffer[sizeof(length)]);
  payload = buffer.substr(sizeof(length) + 1, length - 1);
  buffer.erase(0, sizeof(length) + length);
  return true;
}

std::string job_payload(const Identity& identity, const std::string& description) {
  return to_bytes(identity) + Writer().text(description).bytes();
}
std::string theta_payload(const Work& work) {
  return Writer().integer(work.want == Want::gradient).numbers(*work.theta).bytes();
}
std::string task_payload(const Work& work) {
  const Node& node = work.task.node;
  return Writer().integer(work.call).integer(work.task.point).integer(node.level).integer(node.index).bytes();
}

std::string answer_to_task(const Job& job, const std::vector<double>& theta, Want want,
                           const std::string& task) {
  Reader from(task);
  const std::int64_t call = from.integer(), point = from.integer(), level = from.integer(),
                     index = from.integer();
  from.end();
  const std::int64_t blocks = job.partition().blocks();
  if (level < 0 || level > root(blocks).level || index < 0 || index > (blocks - 1) >> level)
    throw Error("a driver asks for blocks that the job has not");
  const double began = seconds_now();
  const Part part = part_of_node(job, theta, want, {int(level), index});
  Writer to;
  to.integer(call).integer(point).integer(level).integer(index).number(seconds_now() - began);
  return to.text(to_bytes(part)).bytes();
}

Event event_of(int worker, Frame kind, const std::string& payload, const Identity& driver) {
  Reader from(payload);
  if (kind == Frame::error) throw error_of(from);
  if (kind == Frame::hello) {
    const Identity theirs = identity_of(from);
    from.end();
    require_equal(driver, theirs, "worker " + std::to_string(worker));
    return {.kind = Event::Kind::joined, .worker = worker};
  }
  if (kind != Frame::part) throw Error("a worker sent a message of no known kind");
  Event event{.kind = Event::Kind::finished, .worker = worker};
  event.call = from.integer();
  event.task.point = from.integer();
  event.task.node.level = int(from.integer());
  event.task.node.index = from.integer();
  event.seconds = from.number();
  event.part = part_of(from.text());
  from.end();
  return event;
}

int serve(int in, int out, const std::function<std::unique_ptr<Job>(const std::string&)>& make) {
  std::string buffer, payload;
  Frame kind;
  if (!read_frame(in, buffer, kind, payload) || kind != Frame::job) return 2;
  std::unique_ptr<Job> job;
  try {
    Reader from(payload);
    // A job of another version may not even be read. What is compared after it may be new, too.
    Identity driver = identity_of_machine();
    driver.version = from.text();
    require_equal(driver, identity_of_machine(), "a worker");
    identity_of(from = Reader(payload));
    job = make(from.text());
    from.end();
  } catch (const Error& error) {
    write_all(out, frame(Frame::error, to_bytes(error)));
    return 2;
  }
  if (!write_all(out, frame(Frame::hello, to_bytes(identity_of(*job))))) return 0;
  return compute(in, out, *job, buffer);
}

int serve(int in, int out, const Job& job) {
  if (!write_all(out, frame(Frame::hello, to_bytes(identity_of(job))))) return 0;
  std::string buffer;
  return compute(in, out, job, buffer);
}

}  // namespace costate::cluster
