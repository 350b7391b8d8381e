package main

import "strings"

// memoryWays are memory: a mebibyte each, unless the name says otherwise.
func memoryWays() []starver {
	const private, shared, locked, populate, huge = 0x22, 0x21, 0x2000, 0x8000, 0x40000
	mapping := func(size, flags int) func() func(int) int {
		return each(func(int) int { return min(call(sysMmap, 0, size, 3, flags, -1, 0), 0) })
	}
	return []starver{
		{"memory/private", 2000, byMemory, 50, mapping(chunk, private|populate)},
		{"memory/shared", 2000, byMemory, 50, mapping(chunk, shared|populate)},
		{"memory/locked", 1000, byMemory, 50, mapping(chunk, private|locked)},
		{"memory/files", 2000, byMemory, 50, each(memoryFile)},
		{"memory/reserved-file", 2000, byMemory, 50, each(func(int) int {
			return call(sysFallocate, call(sysMemfdCreate, "attack", 0), 0, 0, chunk)
		})},
		{"memory/secret", 2000, byMemory, 0, secretMemory},
		{"memory/nameless-file", 2000, byMemory, 16, each(func(int) int {
			return call(sysWrite, call(sysOpen, "/tmp", oRDWR|oTmpfile, 0o600), make([]byte, chunk), chunk)
		})},
		{"memory/mapped-file", 2000, byMemory, 16, each(func(int) int {
			fd := call(sysOpen, "/tmp", oRDWR|oTmpfile, 0o600)
			if code := call(sysFtruncate, fd, chunk); code < 0 {
				return code
			}
			at := call(sysMmap, 0, chunk, 3, 1, fd, 0) // MAP_SHARED
			if at < 0 {
				return at
			}

			return min(call(sysMadvise, at, chunk, 23), 0) // MADV_POPULATE_WRITE
		})},
		{"memory/huge-pages", 8, refused, 0, mapping(2<<20, private|huge)},
		{"memory/huge-file", 8, refused, 8, every(sysMemfdCreate, "attack", 4)}, // MFD_HUGETLB
		{"memory/maps", 100000, 65536, 100, each(func(n int) int { return mapped(4096, 1+2*(n%2)) })},
		{"memory/page-tables", 200000, byMemory, 50, each(func(int) int { // a page in each two mebibytes
			at := call(sysMmap, 0, 4<<20, 1, private|0x4000, -1, 0) // PROT_READ, MAP_NORESERVE
			if at < 0 {
				return at
			}
			return call(sysMadvise, (at+1<<21)&^(1<<21-1), 4096, 22) // MADV_POPULATE_READ
		})},
		{"memory/tmp", 2000, byMemory, 16, each(fill("/tmp/bomb"))},
		{"memory/dev-shm", 2000, 64, 16, each(fill("/dev/shm/bomb"))},
		{"memory/run", 2000, 1, 0, each(fill("/run/bomb"))},
		{"memory/working-folder", 2000, 4, 0, each(fill("/run/mullion/bomb"))},
		{"memory/dev", 2000, 64, 0, each(fill("/dev/bomb"))},
	}
}

// secretMemory returns a mebibyte that not even the kernel sees.
func secretMemory() func(int) int {
	return func(int) int {
		fd := call(sysMemfdSecret, 0)
		if fd < 0 {
			return fd
		}
		if code := call(sysFtruncate, fd, chunk); code < 0 {
			return code
		}

		at := call(sysMmap, 0, chunk, 3, 1, fd, 0)
		if at < 0 {
			return at
		}
		call(sysClose, fd)
		return call(sysMadvise, at, chunk, 23) // MADV_POPULATE_WRITE
	}
}

// fileWays are names, and what the kernel keeps of them.
func fileWays() []starver {
	made := func(folder string, make1 func(name string) int) func() func(int) int {
		return func() func(int) int {
			call(sysMkdir, folder, 0o777)
			return func(n int) int { return make1(folder + "/" + itoa(n)) }
		}
	}

	empty := func(name string) int { return file2(name, oWRONLY|0o100) }
	folder := func(name string) int { return call(sysMkdir, name, 0o777) }
	link := func(name string) int { return call(sysSymlink, "nowhere/"+string(make([]byte, 0))+name, name) }
	missing := func(name string) int { return min(file(name, oRDONLY), 0) + 2 } // ENOENT is what it wants
	return []starver{
		{"names/tmp-files", 1 << 20, byMemory, 500, made("/tmp/names", empty)},
		{"names/tmp-folders", 1 << 20, byMemory, 500, made("/tmp/folders", folder)},
		{"names/tmp-links", 1 << 20, byMemory, 500, made("/tmp/links", link)},
		{"names/tmp-fifos", 1 << 20, byMemory, 500, made("/tmp/fifos", func(name string) int {
			return call(sysMknod, name, 0o010666, 0)
		})},
		{"names/tmp-sockets", 1 << 20, byMemory, 500, made("/tmp/sockets", func(name string) int {
			return call(sysMknod, name, 0o140666, 0)
		})},
		{"names/tmp-long", 1 << 20, byMemory, 500, made("/tmp/long", func(name string) int {
			return empty(name + strings.Repeat("n", 200))
		})},
		{"names/tmp-hard-links", 1 << 20, byMemory, 500, func() func(int) int {
			empty("/tmp/linked")
			return made("/tmp/more", func(name string) int { return call(sysLink, "/tmp/linked", name) })()
		}},
		{"names/tmp-missing", 1 << 20, byMemory, 500, made("/tmp/missing", missing)},
		{"names/run-files", 1 << 20, byMemory, 0, made("/run/names", empty)},
		{"names/working-files", 1 << 20, 1024, 0, made("/run/mullion/names", empty)},
		{"names/drive-missing", 1 << 17, 1 << 17, 0, made("/Files/missing", missing)},
		{"names/attributes", 100000, byMemory, 0, func() func(int) int {
			file2("/tmp/attributes", oWRONLY|0o100)
			value := make([]byte, 4096)
			return func(n int) int {
				return call(sysSetxattr, "/tmp/attributes", "user.attack"+itoa(n), value, len(value), 0)
			}
		}},
		{"names/deep-folders", 100000, byMemory, 100, func() func(int) int {
			return func(int) int {
				if code := call(sysMkdir, "d", 0o777); code < 0 && code != -17 {
					return code
				}
				return call(sysChdir, "d")
			}
		}},
	}
}

// file2 makes a file and closes it.
func file2(name string, flags int) int {
	fd := call(sysOpen, name, flags, 0o666)
	if fd >= 0 {
		call(sysClose, fd)
	}
	return fd
}
