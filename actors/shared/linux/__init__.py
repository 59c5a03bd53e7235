"""Linux interfaces that Python lacks: mount, openat2, mountinfo, cgroup files. Several actors share them."""
