<!DOCTYPE html>
<html lang="en">
<head><meta charset="UTF-8"><title>{{ ucfirst($department) }}</title></head>
<body>
<h1>{{ ucfirst($department) }}</h1>
<ul>
@foreach ($items as $item)
    <li>{{ $item['name'] }}: {{ number_format($item['price'], 2) }} EUR</li>
@endforeach
</ul>
</body>
</html>
