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
                              {"shared_ideal", &counters::shared_ideal_wavefronts},
                              {"global_requests", &counters::global_requests},
                              {"global_sectors", &counters::global_sectors},
                              {"global_bytes", &counters::global_bytes}};

struct totals {
  ptx::kernel const* kernel;
  counters counts;
  double seconds = 0;
};
// Never destroyed, since streams may run when the process ends.
struct kernel_totals {
  std::mutex mutex;
  std::map<std::string, totals> by_name;
};
kernel_totals& all_totals() {
  static kernel_totals& instance = *new kernel_totals;
  return instance;
}

void write_kernels(std::ostream& file) {
  file << "# device sm_" << current_settings().device.compute_capability << "\nkernel";
  for (column const& c : columns) file << '\t' << c.name;
  file << "\tseconds\n";
  for (auto const& [name, total] : all_totals().by_name) {
    file << name;
    for (column const& c : columns) file << '\t' << total.counts.*c.value;
    file << '\t' << total.seconds << '\n';
  }
}
void write_instructions(std::ostream& file) {
  file << "kernel\tline\tinstruction\twarps\n";
  for (auto const& [name, total] : all_totals().by_name)
    for (std::size_t i = 0; i < total.counts.executed.size(); ++i) {
      auto const line = static_cast<std::size_t>(total.kernel->code[i].line);
      if (total.counts.executed[i] != 0)
        file << name << '\t' << line << '\t' << total.kernel->lines[line - 1] << '\t'
             << total.counts.executed[i] << '\n';
    }
}
void write_synchronizations(std::ostream& file) {
  file << "kernel\tnumber\tline\tinstruction\n";
  for (auto const& [name, total] : all_totals().by_name)
    for (instruction const& instr : total.kernel->code)
      if (instr.synchronization >= 0)
        file << name << '\t' << instr.synchronization << '\t' << instr.line << '\t'
             << total.kernel->lines[static_cast<std::size_t>(instr.line) - 1] << '\n';
}
void write_file(std::string const& suffix, void (*write_table)(std::ostream&)) {
  std::string const path = current_settings().log + "/" + program_invocation_short_name + "-" +
                           std::to_string(getpid()) + suffix;
  std::ofstream file(path);
  write_table(file);
  file.close();
  if (!file) report("cannot write " + path);
}

__attribute__((destructor)) void write_log() {
  std::lock_guard<std::mutex> const lock(all_totals().mutex);
  if (current_settings().log.empty() || all_totals().by_name.empty()) return;
  write_file(".tsv", write_kernels);
  write_file(".synchronizations.tsv", write_synchronizations);
  if (current_settings().options.count_memory) write_file(".instructions.tsv", write_instructions);
}

}  // namespace

void log_launch(kernel const& k, counters const& counts, double seconds) {
  std::lock_guard<std::mutex> const lock(all_totals().mutex);
  totals& total = all_totals().by_name[k.name];
  total.kernel = &k;
  total.counts += counts;
  total.seconds += seconds;
}

}  // namespace ptx::runtime
