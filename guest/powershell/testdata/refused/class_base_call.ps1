class c { c() : this() { } }
