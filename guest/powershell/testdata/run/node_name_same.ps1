& {if ('host-1' -ine "$(echo HOST-1)") { exit -1 }}
