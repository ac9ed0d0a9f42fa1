#include "costate/cluster/world/channels.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

namespace costate::cluster {
namespace {

struct Mailboxes {
  explicit Mailboxes(int count)
      : ranks(count), box(std::size_t(count) * std::size_t(count)), failure(std::size_t(count)) {}
  int ranks;
  std::mutex mutex;
  std::condition_variable arrived;
  std::vector<std::deque<std::string>> box;   // [to][from]
  std::vector<std::optional<Error>> failure;  // of each rank
};

class InMemory final : public Channel {
 public:
  InMemory(std::shared_ptr<Mailboxes> mail, int rank) : mail_(std::move(mail)), rank_(rank) {}
  int rank() const override { return rank_; }
  int ranks() const override { return mail_->ranks; }
  void fail(const Error& error) override {
    const std::lock_guard lock(mail_->mutex);
    stop(error);
  }

 protected:
  void put(int to, std::string bytes) override {
    const std::lock_guard lock(mail_->mutex);
    box(to, rank_).push_back(std::move(bytes));
    mail_->arrived.notify_all();
  }
  std::string get(int from) override {
    std::unique_lock lock(mail_->mutex);
    auto& mine = box(rank_, from);
    const std::optional<Error>& failure = mail_->failure[std::size_t(from)];
    mail_->arrived.wait(lock, [&] { return !mine.empty() || failure; });
    if (mine.empty()) {
      stop(*failure);
      throw *failure;
    }
    std::string bytes = std::move(mine.front());
    mine.pop_front();
    return bytes;
  }

 private:
  // With the mutex held.
  void stop(const Error& error) {
    std::optional<Error>& mine = mail_->failure[std::size_t(rank_)];
    if (!mine) mine = error;
    mail_->arrived.notify_all();
  }
  std::deque<std::string>& box(int to, int from) {
    return mail_->box[std::size_t(to) * std::size_t(mail_->ranks) + std::size_t(from)];
  }
  std::shared_ptr<Mailboxes> mail_;
  int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Channel>> channels(int ranks) {
  if (ranks < 1) throw Error("a world needs at least one rank, not " + std::to_string(ranks));
  const auto mail = std::make_shared<Mailboxes>(ranks);
  std::vector<std::unique_ptr<Channel>> all;
  for (int r = 0; r < ranks; ++r) all.push_back(std::make_unique<InMemory>(mail, r));
  return all;
}

void on_ranks(int ranks, const std::function<void(Channel&)>& body) {
  const auto all = channels(ranks);
  std::vector<std::exception_ptr> failed(all.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < all.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        body(*all[r]);
      } catch (const Error& error) {
        failed[r] = std::current_exception();
        all[r]->fail(error);
      } catch (const std::exception& error) {
        failed[r] = std::current_exception();
        all[r]->fail(Error(std::string("rank ") + std::to_string(r) + " failed: " + error.what()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& one : failed)
    if (one) std::rethrow_exception(one);
}

}  // namespace costate::cluster
