function f($ErrorActionPreference) { 1 }
