// SPDX-License-Identifier: Apache-2.0
#include "log.hpp"

#include "errors.hpp"
#include "settings.hpp"

#include <errno.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <mutex>

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

__attribute__((destructor)) void write_log() {
  std::lock_guard<std::mutex> const hold(all().lock);
  if (asked().log.empty() || all().by_name.empty()) return;
  std::string const path =
      asked().log + "/" + program_invocation_short_name + "-" + std::to_string(getpid()) + ".tsv";
  std::ofstream file(path);
  file << "# device sm_" << asked().device.compute_capability << "\nkernel";
  for (column const& c : columns) file << '\t' << c.name;
  file << "\tseconds\n";
  for (auto const& [name, total] : all().by_name) {
    file << name;
    for (column const& c : columns) file << '\t' << total.counted.*c.value;
    file << '\t' << total.seconds << '\n';
  }
  file.close();
  if (!file) say("cannot write " + path);
}

}  // namespace

void log_launch(std::string const& kernel, counters const& counted, double seconds) {
  std::lock_guard<std::mutex> const hold(all().lock);
  totals& total = all().by_name[kernel];
  total.counted += counted;
  total.seconds += seconds;
}

}  // namespace ptx::runtime
