[long]1e30
