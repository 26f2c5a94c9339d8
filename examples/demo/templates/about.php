<div class="narrow prose">
<h1>About this demo</h1>
<p class="lead">Caravan is a small, complete PHP application without a framework: a front controller, SQLite,
sessions,
forms, uploads and JSON.</p>
<h2>What it shows</h2>
<p>It knows nothing of the server below it, and runs the same under php-fpm, under PHP's built-in server and under
Howdah.
The start page asks PHP who it is running on; the slow page, the stream and the three bad ends show what the server
makes of
pages that are not polite.</p>
<h2>Two ways to run it</h2>
<p>In <strong>classic</strong> mode every request starts from nothing, as under php-fpm. In <strong>worker</strong>
mode the
application is booted once and then serves request after request; <code>index.php</code> is made for both.</p>
<pre><code>howdah php-server --root public
howdah php-server --root public --worker public/index.php</code></pre>
<h2>What it keeps</h2>
<p>Entries, comments and photos live in a folder of their own outside the document root. It is made and filled when
the first
visitor arrives; delete it to start again. Cookies are set for those who log in or see a form, nobody else.</p>
</div>
