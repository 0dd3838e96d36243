# Sourced by the scripts that run other systems: `"${keeping[@]}" COMMAND` runs a command that keeps freed memory. By
# default glibc returns pages to the system after every step, which costs PyTorch a few percent.
keeping=(env MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456)
