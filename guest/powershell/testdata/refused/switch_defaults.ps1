switch (1) { default { 2 } default { 3 } }
