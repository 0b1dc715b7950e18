// SPDX-License-Identifier: Apache-2.0
// Trains a model on a task, both by name: `slicesort_train --task adding --model chord --steps 1500
// --threads 2`. examples/learning/run calls it with the presets of models.json.
#include "learning/checkpoint.hpp"
#include "learning/flags.hpp"
#include "learning/progress.hpp"
#include "learning/tasks/by_name.hpp"
#include "learning/tasks/readers.hpp"
#include "learning/trainer.hpp"
#include "models/catalog.hpp"
#include "settings.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <string>

namespace {

using namespace learning;

constexpr int done = 0, failed = 1, refused = 2, out_of_time = 3, interrupted = 130;

// Ends a call that has nothing to save at once, and training after the step.
volatile std::sig_atomic_t stopped = 0, training = 0;
extern "C" void stop(int) {
  if (!training) std::_Exit(interrupted);
  stopped = 1;
}

// A run: the model, its trainer, and the files that they are kept in.
class run {
 public:
  run(settings const& s, std::unique_ptr<task> samples)
      : s_(s),
        task_(std::move(samples)),
        model_(s.make_model(task_->shape())),
        trainer_(*model_, *task_, s.rules),
        journal_(s.dry ? "" : s.journal),
        progress_(s.rules.steps) {}

  void say_size() {
    std::printf(
        "%s on %s: %lld parameters, %.1f MB for them and their moments, %.1f MB for a step\n",
        s_.model.c_str(), s_.task.c_str(), static_cast<long long>(model_->learned().size()),
        static_cast<double>(trainer_.parameter_bytes()) / 1e6,
        static_cast<double>(trainer_.step_bytes()) / 1e6);
    std::fflush(stdout);
  }

  int train() {
    if (!s_.checkpoint.empty() && std::filesystem::exists(s_.checkpoint)) load();
    journal_.write(journal_line("start")
                       .add("task", s_.task)
                       .add("model", s_.model)
                       .add("parameters", model_->learned().size())
                       .add("memory_bytes", memory_bytes())
                       .add("threads", static_cast<index_t>(s_.rules.threads))
                       .add("blas", gemm_name)
                       .add("step", trainer_.step()));
    training = 1;
    double const before = trainer_.seconds();
    if (trainer_.step() == trainer_.steps()) test();  // it ended before the test was in the journal
    score window;
    double window_start = before;
    char const* reason = stopped ? "interrupted" : "steps";
    while (trainer_.step() < trainer_.steps()) {
      score const last = trainer_.train();
      window.add(last);
      index_t const step = trainer_.step();
      bool const at_end = step == trainer_.steps();
      double const seconds = trainer_.seconds() - window_start;
      auto const steps = static_cast<double>(window.samples) / static_cast<double>(s_.rules.batch);
      progress_.show(step, window.mean_loss(), window.accuracy(), steps / seconds,
                     static_cast<std::size_t>(memory_bytes()));
      if (step % s_.log_every == 0 || at_end) {
        journal_.write(line("train", window).add("steps_per_second", steps / seconds));
        window = {}, window_start = trainer_.seconds();
      }
      if ((s_.test_every > 0 && step % s_.test_every == 0) || at_end) test();
      if (s_.save_every > 0 && step % s_.save_every == 0) save();
      if (stopped || (s_.minutes > 0 && trainer_.seconds() - before > 60 * s_.minutes && !at_end)) {
        reason = stopped ? "interrupted" : "minutes";
        if (!stopped && (s_.test_every == 0 || step % s_.test_every != 0)) test();
        break;
      }
    }
    progress_.clear();
    save();
    journal_.write(journal_line("end")
                       .add("step", trainer_.step())
                       .add("seconds", trainer_.seconds())
                       .add("reason", reason));
    return stopped ? interrupted : trainer_.step() < trainer_.steps() ? out_of_time : done;
  }

 private:
  index_t memory_bytes() {
    return static_cast<index_t>(trainer_.step_bytes() + trainer_.parameter_bytes());
  }
  journal_line line(char const* event, score const& s) const {
    journal_line all(event);
    all.add("step", trainer_.step()).add("loss", s.mean_loss()).add("accuracy", s.accuracy());
    return all.add("seconds", trainer_.seconds());
  }
  void test() {
    score const all = trainer_.test([] { return stopped == 0; });
    if (stopped) return;
    journal_.write(line("test", all).add("samples", all.samples));
    progress_.clear();
    std::printf("step %lld: test loss %.4f, accuracy %.2f %% of %lld\n",
                static_cast<long long>(trainer_.step()), all.mean_loss(), 100 * all.accuracy(),
                static_cast<long long>(all.samples));
    std::fflush(stdout);
  }
  void save() {
    if (s_.checkpoint.empty()) return;
    save_checkpoint(s_.checkpoint, model_->learned(),
                    metadata_of({trainer_.step(), trainer_.seconds(), s_.identity()}));
  }
  void load() {
    run_state const from =
        load_checkpoint(s_.checkpoint, model_->learned(), [&](metadata const& about) {
          return run_state_of(about, s_.identity(), trainer_.steps());
        });
    trainer_.resume(from.step, from.seconds);
  }

  settings const& s_;
  std::unique_ptr<task> task_;
  std::unique_ptr<model<float>> model_;
  trainer trainer_;
  journal journal_;
  progress progress_;
};

// The accuracies of ListOps's trivial readers, as a line of JSON.
int read_trivially(task const& samples) {
  constexpr index_t learned = 20000;
  journal_line all("readers");
  for (trivial_reader const& reader : trivial_readers)
    all.add(reader.looks_at, reader_accuracy(samples, reader, learned, samples.size(split::test)));
  std::fputs(all.text().c_str(), stdout);
  return done;
}

int follow(CLI::App& app, int count, char** words) {
  settings s(app);
  bool list = false, readers = false;
  app.add_flag("--list", list, "prints the names of all models and tasks");
  app.add_flag("--readers", readers, "prints the accuracies of trivial readers of ListOps");
  task_maker make_task;
  read_flags(app, count, words, [&] { make_task = add_task(app, readers ? "listops" : s.task); });
  if (list) {
    for (auto const& [name, entry] : all_models())
      std::printf("model %-26s %s\n", name.c_str(), entry.about.c_str());
    for (auto const& [name, about] : all_tasks())
      std::printf("task  %-26s %s\n", name.c_str(), about.c_str());
    return done;
  }
  std::unique_ptr<task> samples = make_task();
  if (readers) return read_trivially(*samples);
  run all(s, std::move(samples));
  all.say_size();
  return s.dry ? done : all.train();
}

}  // namespace

int main(int count, char** words) {
  std::signal(SIGINT, stop);
  std::signal(SIGTERM, stop);
  CLI::App app("Trains a model on a task.", "slicesort_train");
  try {
    return follow(app, count, words);
  } catch (CLI::CallForHelp const&) {
    std::fputs(app.help().c_str(), stdout);
    return done;
  } catch (usage_error const& e) {
    std::fprintf(stderr, "slicesort_train: %s\n", e.what());
    return refused;
  } catch (task_error const& e) {
    std::fprintf(stderr, "slicesort_train: %s\n", e.what());
    return refused;
  } catch (std::bad_alloc const&) {
    std::fputs("slicesort_train: the model needs more memory than there is\n", stderr);
    return failed;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "slicesort_train: %s\n", e.what());
    return failed;
  }
}
