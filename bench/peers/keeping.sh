# Sourced by the scripts that run peers: `"${keeping[@]}" COMMAND` runs one that keeps freed memory. glibc else gives
# pages back after every step, which costs PyTorch some percent.
keeping=(env MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456)
