<?php

declare(strict_types=1);

// The first page after an installation: it shows that server and PHP work, and what to do next.
header('Cache-Control: no-store');
header("Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'");
?>
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>Welcome to Howdah</title>
<style>
:root { --text: #1c2530; --dim: #566270; --page: #f7f8fa; --card: #fff; --line: #dde2e8; --accent: #0b6e4f }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6eaef; --dim: #9aa6b3; --page: #14181d; --card: #1c2229; --line: #2d353f; --accent: #5fd0a6 }
}
* { box-sizing: border-box }
body { margin: 0; padding: 2rem 1rem; background: var(--page); color: var(--text);
  font: 1rem/1.55 system-ui, sans-serif }
main { max-width: 40rem; margin: 0 auto; padding: 1.5rem 1.75rem; background: var(--card);
  border: 1px solid var(--line); border-radius: .6rem }
h1 { margin: 0 0 .25rem; font-size: 1.5rem }
h2 { margin: 1.5rem 0 .25rem; font-size: 1.05rem }
p { margin: .25rem 0 .75rem }
.facts { color: var(--dim) }
pre { overflow-x: auto; margin: 0 0 .75rem; padding: .7rem .9rem; background: var(--page);
  border: 1px solid var(--line); border-radius: .4rem; font: .875rem/1.5 ui-monospace, monospace }
p code { overflow-wrap: anywhere }
a { color: var(--accent) }
</style>
</head>
<body>
<main>
<h1>Howdah works</h1>
<p class="facts">PHP <?= PHP_VERSION ?>, <?= count(get_loaded_extensions()) ?> extensions.
This page is <code>/usr/share/howdah/welcome/index.php</code>.</p>

<h2>Serve your application</h2>
<p>Write its site into <code>/etc/howdah/Caddyfile</code>, in place of the one for this page:</p>
<pre>example.com {
    root /srv/app/public
    php_server
}</pre>
<p>Then check it and reload:</p>
<pre>howdah validate --config /etc/howdah/Caddyfile
systemctl reload howdah</pre>

<h2>Keep it in memory</h2>
<p>Frameworks with a worker script run several times as fast in worker mode. In the folder of a CodeIgniter, Laravel,
Symfony or Slim application this command writes what is needed:</p>
<pre>howdah init</pre>

<h2>When something fails</h2>
<pre>howdah doctor --config /etc/howdah/Caddyfile
journalctl --unit howdah</pre>
</main>
</body>
</html>
