/*
 * A plug-in of qemu that counts what a program of one thread takes, and prints it at its end: the instructions that it
 * ran, and the memory that it touched (pages of 4 KiB that it read, wrote or ran code of, libraries and system calls'
 * buffers among them; a page that was given back still counts). scripts/infer_aarch64.sh compiles and uses it.
 *
 *     cc -shared -fPIC bench/qemu/counts.c -o counts.so
 *     qemu-aarch64 -plugin ./counts.so -d plugin PROGRAM...
 *
 * Debian ships no header of qemu's interface for plug-ins, so what is used of its version 1 is declared here.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct qemu_plugin_tb; /* a block of translated instructions */
struct qemu_plugin_insn;
enum { kAddU64 = 0, kNoRegisters = 0, kReadsAndWrites = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*called)(plugin_id, struct qemu_plugin_tb*));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn* instruction);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, int op, void* sum, uint64_t term);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn* instruction,
                                      void (*called)(unsigned, uint32_t, uint64_t, void*), int registers, int accesses,
                                      void* user);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*called)(plugin_id, void*), void* user);
void qemu_plugin_outs(const char* text);

EXPORT int qemu_plugin_version = 1;

/* A hash set of page numbers with open addressing; 0, which no program uses, is an empty slot. Room for 2 GiB. */
enum { kPlaces = 1 << 20, kMostPages = kPlaces / 2 };
static uint64_t places[kPlaces];
static uint64_t instructions, pages, last_page;

static void touch(uint64_t address) {
  const uint64_t page = address >> 12;
  uint64_t place;
  if (page == last_page) return;
  last_page = page;
  for (place = page * 0x9e3779b97f4a7c15u >> 44; places[place] != 0; place = (place + 1) % kPlaces)
    if (places[place] == page) return;
  if (pages == kMostPages) return;
  places[place] = page;
  ++pages;
}

static void accessed(unsigned processor, uint32_t kind, uint64_t address, void* user) {
  (void)processor;
  (void)kind;
  (void)user;
  touch(address);
}

static void translated(plugin_id id, struct qemu_plugin_tb* block) {
  const size_t count = qemu_plugin_tb_n_insns(block);
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, kAddU64, &instructions, count);
  for (size_t i = 0; i < count; ++i) {
    struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(block, i);
    touch(qemu_plugin_insn_vaddr(instruction));
    qemu_plugin_register_vcpu_mem_cb(instruction, accessed, kNoRegisters, kReadsAndWrites, NULL);
  }
}

static void ended(plugin_id id, void* user) {
  char line[96];
  (void)id;
  (void)user;
  snprintf(line, sizeof line, "instructions: %" PRIu64 "\nmemory: %" PRIu64 " kB%s\n", instructions,
           pages * 4096 / 1000, pages == kMostPages ? " and more" : "");
  qemu_plugin_outs(line);
}

EXPORT int qemu_plugin_install(plugin_id id, const void* info, int count, char** arguments) {
  (void)info;
  (void)count;
  (void)arguments;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, ended, NULL);
  return 0;
}
