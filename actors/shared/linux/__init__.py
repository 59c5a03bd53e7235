"""What Python lacks of Linux: mount, openat2, mountinfo, cgroup files. Shared by several actors; imports nothing of
ours but the vocabulary of objects."""
