Hello, {{ $name }}!
