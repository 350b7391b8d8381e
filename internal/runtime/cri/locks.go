package cri

import "sync"

// keyedMutex is a mutex for each id.
type keyedMutex struct {
	mu    sync.Mutex
	locks map[string]*countedMutex
}

type countedMutex struct {
	sync.Mutex
	users int
}

// lock waits for the id's mutex and returns how to unlock it.
func (k *keyedMutex) lock(id string) (unlock func()) {
	m := k.use(id)
	m.Lock()
	return func() {
		m.Unlock()
		k.leave(id, m)
	}
}

// tryLock is lock, if nobody has the id's mutex.
func (k *keyedMutex) tryLock(id string) (unlock func(), locked bool) {
	m := k.use(id)
	if !m.TryLock() {
		k.leave(id, m)
		return nil, false
	}
	return func() {
		m.Unlock()
		k.leave(id, m)
	}, true
}

func (k *keyedMutex) use(id string) *countedMutex {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.locks == nil {
		k.locks = map[string]*countedMutex{}
	}
	m := k.locks[id]
	if m == nil {
		m = &countedMutex{}
		k.locks[id] = m
	}
	m.users++
	return m
}

func (k *keyedMutex) leave(id string, m *countedMutex) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m.users--; m.users == 0 {
		delete(k.locks, id)
	}
}
