// SPDX-License-Identifier: Apache-2.0
#include "log.hpp"

#include "errors.hpp"
#include "settings.hpp"

#include <errno.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

namespace ptx::runtime {

namespace {

struct column {
  char const* name;
  std::uint64_t counters::*value;
};
constexpr column columns[] = {{"launches", &counters::launches},
                              {"blocks", &counters::blocks},
                              {"threads", &counters::threads},
                              {"warp_instructions", &counters::warp_instructions},
                              {"thread_instructions", &counters::thread_instructions},
                              {"divergent_branches", &counters::divergent_branches},
                              {"barriers", &counters::barriers},
                              {"cluster_barriers", &counters::cluster_barriers},
                              {"shuffles", &counters::shuffles},
                              {"matrix_products", &counters::matrix_products},
                              {"matrix_loads", &counters::matrix_loads},
                              {"async_copies", &counters::async_copies},
                              {"shared_requests", &counters::shared_requests},
                              {"shared_wavefronts", &counters::shared_wavefronts},
                              {"shared_ideal", &counters::shared_ideal},
                              {"global_requests", &counters::global_requests},
                              {"global_sectors", &counters::global_sectors},
                              {"global_bytes", &counters::global_bytes}};

struct totals {
  kernel const* what;
  counters counted;
  double seconds = 0;
};
// Never destroyed: streams may still work when the process ends.
struct all_kernels {
  std::mutex lock;
  std::map<std::string, totals> by_name;
};
all_kernels& all() {
  static all_kernels& there = *new all_kernels;
  return there;
}

void write_kernels(std::ostream& to) {
  to << "# device sm_" << asked().device.compute_capability << "\nkernel";
  for (column const& c : columns) to << '\t' << c.name;
  to << "\tseconds\n";
  for (auto const& [name, total] : all().by_name) {
    to << name;
    for (column const& c : columns) to << '\t' << total.counted.*c.value;
    to << '\t' << total.seconds << '\n';
  }
}
void write_instructions(std::ostream& to) {
  to << "kernel\tline\tinstruction\twarps\n";
  for (auto const& [name, total] : all().by_name)
    for (std::size_t i = 0; i < total.counted.executed.size(); ++i) {
      auto const line = static_cast<std::size_t>(total.what->code[i].line);
      if (total.counted.executed[i] != 0)
        to << name << '\t' << line << '\t' << total.what->lines[line - 1] << '\t'
           << total.counted.executed[i] << '\n';
    }
}
void write_synchronizations(std::ostream& to) {
  to << "kernel\tnumber\tline\tinstruction\n";
  for (auto const& [name, total] : all().by_name)
    for (instruction const& n : total.what->code)
      if (n.synchronization >= 0)
        to << name << '\t' << n.synchronization << '\t' << n.line << '\t'
           << total.what->lines[static_cast<std::size_t>(n.line) - 1] << '\n';
}
void write(std::string const& ending, void (*table)(std::ostream&)) {
  std::string const path =
      asked().log + "/" + program_invocation_short_name + "-" + std::to_string(getpid()) + ending;
  std::ofstream file(path);
  table(file);
  file.close();
  if (!file) say("cannot write " + path);
}

__attribute__((destructor)) void write_log() {
  std::lock_guard<std::mutex> const hold(all().lock);
  if (asked().log.empty() || all().by_name.empty()) return;
  write(".tsv", write_kernels);
  write(".synchronizations.tsv", write_synchronizations);
  if (asked().watched.count_memory) write(".instructions.tsv", write_instructions);
}

}  // namespace

void log_launch(kernel const& what, counters const& counted, double seconds) {
  std::lock_guard<std::mutex> const hold(all().lock);
  totals& total = all().by_name[what.name];
  total.what = &what;
  total.counted += counted;
  total.seconds += seconds;
}

}  // namespace ptx::runtime
