<?php

$session = ini_get_all('session', false);
unset($session['session.save_path']);
echo json_encode([count($session) > 20, $session['session.name'], $session['session.gc_probability']]), "\n";
echo json_encode(ini_get_all('date', true)['date.timezone']), "\n";
echo json_encode([ini_set('memory_limit', '48M'), ini_get('memory_limit'), ini_restore('memory_limit'), ini_get('memory_limit'), ini_set('post_max_size', '1K'), ini_set('no.such.option', 1)]);
